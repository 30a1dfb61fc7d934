import type { Person } from '../../shared/actor.ts';
import type { Deps } from '../../shared/deps.ts';
import type { Outcome } from '../../shared/keys/life.ts';
import { keyRevision } from '../../shared/keys/record.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { sendStored } from '../../shared/mail/delivery.ts';
import type { Operation } from '../../shared/operations/entry.ts';
import { isOutcome, OPERATIONS, performWhole } from '../../shared/operations.ts';
import { findProfile, profileRevision, readProfile } from '../../shared/profiles/find.ts';
import { type Context, withShownVersion } from '../context.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { paintStates } from './print.ts';

/** A profile by name and, once it is found, by UID, because the name may move to another profile. */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/**
 * The context for an operation that is confirmed first: it is refused (`changed_since`) if the key or profile has changed since
 * this call, which throws `not_found`.
 */
export function unlessChanged(context: Context, about: { identifier: string } | NamedProfile): Context {
  const { db } = context.deps;
  const shown =
    'identifier' in about
      ? keyRevision(db, about.identifier)
      : profileRevision(db, namedProfile(context.deps, about).profileId);
  return { ...context, actor: withShownVersion(context.actor, shown) };
}

/** The profile with this name, with its current username. Throws `not_found`. */
export function namedProfile(
  { db }: Deps,
  { profile, profileId }: NamedProfile,
): Required<NamedProfile> & { profileId: number } {
  const { id, username } = profileId === undefined ? findProfile(db, profile) : readProfile(db, profileId);
  return { profile: username, profileId: id };
}

/** Performs a whole operation as the operator, and tries once to send the mails that it stored, in case no server is running. */
export async function performAndSend<Input extends object, Output>(
  { deps, actor }: { deps: Deps; actor: Person },
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const output = await performWhole(deps, actor, operation, input);
  if (!isOutcome(output)) return output;
  const { mailIds, warning } = output;
  return { ...output, warning: warning ?? (await sendStored(deps, mailIds)) };
}

/** Performs an operation that changes a key, prints warnings to stderr, and prints the key ({@link printKey}). */
export async function performAndPrint<Input extends object>(
  context: Context,
  operation: Operation<Input, unknown>,
  input: Input,
): Promise<Outcome> {
  // Only a person who waits needs it.
  if (operation.mailsSecret && process.stderr.isTTY) notice('Mailing the secret…');
  const outcome = (await performAndSend(context, operation, input)) as Outcome;
  if (outcome.warning !== null) notice(`Warning: ${outcome.warning}`);
  await printKey(context, outcome.identifier);
  return outcome;
}

/** Prints a key's identifier and state to stdout, or the whole key with `--json`. */
async function printKey(context: Context, identifier: string): Promise<void> {
  const key = await readKey(context, identifier);
  if (context.json) printJson(key);
  else print(`${key.identifier} ${key.state}`, paintStates);
}

/** The key as it is now. Throws `not_found`. */
export async function readKey(context: Context, identifier: string): Promise<KeyView> {
  return (await performAndSend(context, OPERATIONS.show, { identifier })).key;
}
