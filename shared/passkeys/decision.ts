import { AppError } from '../errors.ts';
import type { RateLimit } from '../limits/rate-limit.ts';

/** One thing that an admin decides: all that the page showed and the form says. Times are milliseconds since 1970. */
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
  /** The state in which the page showed what is decided on (`keyVersion`). */
  shown: string;
};

/** The most decisions that one assertion may cover. */
export const MOST_DECISIONS = 20;

/**
 * What one assertion covers, as one text: lists of decisions that differ in anything have different ones, also where one
 * leaves out what is null in the other. `readDecisions` reads it again.
 */
export function decisionsText(decisions: readonly Decision[]): string {
  return JSON.stringify(
    decisions.map(({ operation, identifier, permissions, rateLimits, expiresAtMs, retireOldAtMs, reason, shown }) => ({
      operation,
      identifier,
      permissions,
      rateLimits: rateLimits?.map(({ quota, windowSeconds }) => ({ quota, windowSeconds })),
      expiresAtMs,
      retireOldAtMs,
      reason,
      shown,
    })),
  );
}

/** The decisions of a text that {@link decisionsText} has made. */
export function readDecisions(text: string): Decision[] {
  return JSON.parse(text);
}

/**
 * Throws the first refusal where each of these decisions is refused. Where only some are, it throws nothing: whatever carries
 * them out refuses these by themselves.
 */
export async function refuseWhereAll<One extends Decision>(
  decisions: readonly One[],
  refuse: (decision: One) => void | Promise<void>,
): Promise<void> {
  let first: AppError | null = null;
  for (const decision of decisions) {
    try {
      await refuse(decision);
      return;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      first ??= error;
    }
  }
  if (first !== null) throw first;
}
