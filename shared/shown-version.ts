import { createHash } from 'node:crypto';
import { AppError } from './errors.ts';

// A decision applies only to what was shown: the person confirms a version, that is, the state at the time of display. It is read
// before it is shown, passed on with the person who confirms it (`shown` of a `Person`), and compared in the transaction that
// writes. Each kind of thing provides its facts.

/** The facts of something by name: the value, and a clause for the error if it has changed. */
export type Facts = Readonly<Record<string, readonly [value: unknown, clause: string]>>;

/** A version as text, which forms can send back: the name of each fact with a hash of its value. */
export type ShownVersion = string;

/** In characters of base64url: 96 bits. */
const HASH_LENGTH = 16;

/** Makes the version of these facts. */
export function versionOf(facts: Facts): ShownVersion {
  return Object.entries(facts)
    .map(([name, [value]]) => `${name}=${hashOf(value)}`)
    .join(',');
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, HASH_LENGTH);
}

/** The clauses of the facts that have changed since they were shown; null if none has. Empty if the facts have other names. */
export function changesSince(shown: ShownVersion, facts: Facts): string[] | null {
  if (shown === versionOf(facts)) return null;
  const before = new Map(shown.split(',').map((part) => part.split('=') as [string, string | undefined]));
  return Object.entries(facts).flatMap(([name, [value, clause]]) =>
    before.has(name) && before.get(name) !== hashOf(value) ? [clause] : [],
  );
}

/**
 * Throws `changed_since`, with a sentence that says what has changed, unless `what` is as it was shown; passes if nothing was
 * shown. If `version` is given, only the facts that it names count. Call it in the transaction that writes.
 */
export function refuseOtherVersion(
  shown: ShownVersion | undefined,
  what: string,
  facts: () => Facts,
  version?: readonly string[],
): void {
  const changes = shown === undefined ? null : changesSince(...counting(version, shown, facts()));
  if (changes === null) return;
  const which = changes.length === 0 ? '' : `: ${changes.join(', ')}`;
  throw new AppError('changed_since', `${what} has changed since it was shown${which}. Nothing was done.`);
}

function counting(version: readonly string[] | undefined, shown: ShownVersion, facts: Facts): [ShownVersion, Facts] {
  if (version === undefined) return [shown, facts];
  const parts = shown.split(',').filter((part) => version.includes(part.split('=', 1)[0] as string));
  return [parts.join(','), Object.fromEntries(Object.entries(facts).filter(([name]) => version.includes(name)))];
}
