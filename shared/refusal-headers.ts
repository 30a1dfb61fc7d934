import type { ErrorDetails } from './refusal.ts';

/** The header of refusals after which trying again is sensible. */
export const retryAfter = ({ retryAfterSeconds = 1 }: ErrorDetails) => ({ 'Retry-After': String(retryAfterSeconds) });
