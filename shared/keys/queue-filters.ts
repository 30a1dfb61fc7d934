/** The filters of the queue of requests, by the names that its page shows. */
export const QUEUE_FILTERS = ['lookup only', 'leaderboard', 'first key', 'no usage given'] as const;

/** The name of such a filter. */
export type QueueFilter = (typeof QUEUE_FILTERS)[number];

/** Whether a string is the name of such a filter. */
export function isQueueFilter(text: string): text is QueueFilter {
  return QUEUE_FILTERS.some((filter) => filter === text);
}
