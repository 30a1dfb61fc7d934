import { AppError } from '../errors.ts';

/** A decision of an admin: what the page showed, and the input with which it is carried out. */
export type Decision = {
  /** The name of an operation on keys, or `remove passkey`. */
  operation: string;
  /** The operation's parsed input. The identifier is that of the key, or the id of the passkey. */
  input: { readonly identifier: string; readonly [name: string]: unknown };
  /** The version of the key that the page showed (`keyVersion`); empty for `remove passkey`. */
  shown: string;
};

/** The maximum number of decisions that one assertion may authorise. */
export const MAX_DECISIONS = 20;

/**
 * The subject of an assertion as canonical JSON: the decisions, with the members of objects sorted by name. Different lists
 * of decisions have different texts, even if one omits a member that is null in the other. `readDecisions` parses it.
 */
export function decisionsText(decisions: readonly Decision[]): string {
  return JSON.stringify(decisions, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}

/** Parses a text from {@link decisionsText}. */
export function readDecisions(text: string): Decision[] {
  return JSON.parse(text);
}

/**
 * Throws the first refusal if all of these decisions are refused. If only some are, the code that carries them out
 * refuses these individually.
 */
export function refuseIfAll(decisions: readonly Decision[], refuse: (decision: Decision) => void): void {
  let first: AppError | null = null;
  for (const decision of decisions) {
    try {
      refuse(decision);
      return;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      first ??= error;
    }
  }
  if (first !== null) throw first;
}
