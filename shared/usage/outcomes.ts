/** The outcomes by which requests with a valid key are counted. */
export const USAGE_OUTCOMES = ['ok', 'notFound', 'forbidden', 'malformed', 'limited', 'failed'] as const;

export type UsageOutcome = (typeof USAGE_OUTCOMES)[number];

/** Makes a record with a value for each outcome. */
export function eachOutcome<T>(make: (outcome: UsageOutcome) => T): Record<UsageOutcome, T> {
  return Object.fromEntries(USAGE_OUTCOMES.map((one) => [one, make(one)])) as Record<UsageOutcome, T>;
}

/** Numbers of requests by outcome. */
export type Outcomes = Readonly<Record<UsageOutcome, number>>;

/** The number of all requests. */
export function countRequests(counts: Outcomes): number {
  return USAGE_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/** The number of requests that were answered, also if the profile does not exist. All others were refused or failed. */
export function countAnswered({ ok, notFound }: Outcomes): number {
  return ok + notFound;
}

/** For how many days usage is kept, including today. */
export const USAGE_DAYS = 400;

/** The default number of days of usage to show. */
export const USUAL_DAYS = 30;
