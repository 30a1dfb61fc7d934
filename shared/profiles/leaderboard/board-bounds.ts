/** The maximum number of profiles on the leaderboard. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page of the leaderboard: `limit` entries after the first `offset` entries. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;
