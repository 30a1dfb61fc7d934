/** How a request with a valid key ended, as it is counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** For how many days it is kept what a key was used for, today among them. */
export const USAGE_DAYS = 400;

/** What one key was used for on one day (days since 1970, UTC) since that was last written down. */
export type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** One that goes on until it is taken. */
export type OpenTally = Tally & { isTaken: boolean };
