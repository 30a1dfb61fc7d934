/** How many profiles the board has at most. */
export const BOARD_SIZE = 10_000;

/** The bounds of a page: `limit` entries after the first `offset`. */
export const PAGE_BOUNDS = { minLimit: 1, maxLimit: 100, defaultLimit: 50, maxOffset: 9_999 } as const;
