import type { RateLimit } from '../limits/rate-limit.ts';

/** What an admin decides by one assertion: all that the page showed and the form says. Times are milliseconds since 1970. */
export type Decision = {
  /** The name of an operation on keys, or `remove passkey`. */
  operation: string;
  /** Of the key, or the id of the passkey. */
  identifier: string;
  permissions?: readonly string[] | undefined;
  rateLimits?: readonly RateLimit[] | undefined;
  /** Null where there is to be none; undefined where nothing is said of it. */
  expiresAtMs?: number | null | undefined;
  retireOldAtMs?: number | null | undefined;
  reason?: string | null | undefined;
  /** The state in which the page showed what is decided on (`shownKey`). */
  shown: string;
};

/** A decision as one text: two that differ in anything have different ones, also where one leaves out what is null in the other. */
export function decisionText(decision: Decision): string {
  const { operation, identifier, permissions, rateLimits, expiresAtMs, retireOldAtMs, reason, shown } = decision;
  const limits = rateLimits?.map(({ quota, windowSeconds }) => ({ quota, windowSeconds }));
  return JSON.stringify({
    operation,
    identifier,
    permissions,
    rateLimits: limits,
    expiresAtMs,
    retireOldAtMs,
    reason,
    shown,
  });
}
