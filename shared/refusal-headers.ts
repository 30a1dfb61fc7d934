import type { ErrorDetails } from './refusal.ts';

/** The header of refusals after which retrying makes sense. */
export const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });
