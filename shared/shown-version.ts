import { createHash } from 'node:crypto';
import { AppError } from './errors.ts';

// What was shown is what is done: whoever confirms something confirms the state in which it was laid out. That state is
// read before it is shown, travels with whoever confirms it (`shown` of a `Person`), and is read once more in the
// transaction that writes. Each kind of thing says by its facts what there is to compare.

/** The facts of something by their names: what each is, as a JSON value, and a clause for when it has changed. */
export type Facts = Readonly<Record<string, readonly [value: unknown, clause: string]>>;

/** A state as a text, which forms can send back: a hash of each fact beside its name. */
export type Shown = string;

/** How much of a hash is kept, in characters of base64url: 96 bits. */
const HASH_LENGTH = 16;

/** The text for a state. */
export function versionOf(facts: Facts): Shown {
  return Object.entries(facts)
    .map(([name, [value]]) => `${name}=${hashOf(value)}`)
    .join(',');
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, HASH_LENGTH);
}

/**
 * The clauses of the facts that are not any more as they were shown; null where all are. Empty where a text is none that
 * {@link versionOf} has made of facts of these names.
 */
export function changesSince(shown: Shown, facts: Facts): string[] | null {
  if (shown === versionOf(facts)) return null;
  const before = new Map(shown.split(',').map((part) => part.split('=') as [string, string | undefined]));
  return Object.entries(facts).flatMap(([name, [value, clause]]) =>
    before.has(name) && before.get(name) !== hashOf(value) ? [clause] : [],
  );
}

/**
 * Throws `changed_since`, with a sentence that says what has changed, unless `what` is as it was shown. Call it in the
 * transaction that writes. Undefined, where nothing was shown to anybody, is fine. Only the facts that `version` names count,
 * where it is given.
 */
export function refuseOtherVersion(
  shown: Shown | undefined,
  what: string,
  facts: () => Facts,
  version?: readonly string[],
): void {
  const changes = shown === undefined ? null : changesSince(...counting(version, shown, facts()));
  if (changes === null) return;
  const which = changes.length === 0 ? '' : `: ${changes.join(', ')}`;
  throw new AppError('changed_since', `${what} has changed meanwhile${which}. Nothing was done.`);
}

/** A state and facts without those that don't count. */
function counting(version: readonly string[] | undefined, shown: Shown, facts: Facts): [Shown, Facts] {
  if (version === undefined) return [shown, facts];
  const parts = shown.split(',').filter((part) => version.includes(part.split('=', 1)[0] as string));
  return [parts.join(','), Object.fromEntries(Object.entries(facts).filter(([name]) => version.includes(name)))];
}
