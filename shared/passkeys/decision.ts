import { AppError } from '../errors.ts';
import type { RateLimit } from '../limits/rate-limit.ts';

/**
 * One decision of an admin: everything that the page showed and the form contains. Times are milliseconds since 1970.
 */
export type Decision = {
  /** The name of an operation on keys, or `remove passkey`. */
  operation: string;
  /** The key's identifier, or the id of the passkey. */
  identifier: string;
  permissions?: readonly string[] | undefined;
  rateLimits?: readonly RateLimit[] | undefined;
  /** Null for no expiry; undefined if the decision does not concern it. */
  expiresAtMs?: number | null | undefined;
  retireOldAtMs?: number | null | undefined;
  reason?: string | null | undefined;
  /** The version of the subject that the page showed (`keyVersion`). */
  shown: string;
};

/** The most decisions that one assertion may cover. */
export const MOST_DECISIONS = 20;

/**
 * What one assertion covers, as text: different lists of decisions have different texts, even if one omits what is null
 * in the other. `readDecisions` parses it.
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

/** Parses a text from {@link decisionsText}. */
export function readDecisions(text: string): Decision[] {
  return JSON.parse(text);
}

/**
 * Throws the first refusal if every one of these decisions is refused. If only some are, it throws nothing: the code
 * that carries them out refuses these individually.
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
