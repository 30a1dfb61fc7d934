/** The outcomes by which requests with a valid key are counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** Makes a value for each outcome. */
export function eachOutcome<T>(make: (outcome: UsageOutcome) => T): Record<UsageOutcome, T> {
  return Object.fromEntries(USAGE_OUTCOMES.map((one) => [one, make(one)])) as Record<UsageOutcome, T>;
}

/** Numbers of requests by outcome. */
export type Outcomes = Readonly<Record<UsageOutcome, number>>;

/** All requests. */
export function countRequests(counts: Outcomes): number {
  return USAGE_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/** Those that were answered: that a profile does not exist is an answer too. All others were refused or failed. */
export function countAnswered({ ok, notFound }: Outcomes): number {
  return ok + notFound;
}

/** For how many days usage is kept, including today. */
export const USAGE_DAYS = 400;

/** How many days of usage are shown by default. */
export const USUAL_DAYS = 30;

/** The usage of one key on one day (days since 1970, UTC) that is not stored yet. */
export type Tally = Record<UsageOutcome, number> & { identifier: string; day: number; lastUsedAt: number };

/** A tally that counts until it is taken. */
export type OpenTally = Tally & { isTaken: boolean };
