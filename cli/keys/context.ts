import type { Person } from '../../shared/actor.ts';
import { checkMailer } from '../../shared/approval/approve.ts';
import type { Clock } from '../../shared/clock.ts';
import type { Deps } from '../../shared/deps.ts';
import { keyVersion } from '../../shared/keys/key-version.ts';
import { checkProfile } from '../../shared/keys/life/lifecycle.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation, Operation } from '../../shared/operations/entry.ts';
import { isOutcome, performWhole } from '../../shared/operations.ts';
import { findProfile, readProfile } from '../../shared/profiles/find.ts';
import { shownProfile } from '../../shared/profiles/profile-version.ts';
import { sendOnce } from '../../shared/upkeep/delivery/deliver.ts';
import type { Globals } from '../context.ts';
import { type Context, withShownVersion } from '../database.ts';
import { whileMailIsChecked } from '../terminal/waiting.ts';

/** Performs an operation as the operator. Throws what `perform` of `shared/operations.ts` throws. */
export type Perform = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
) => Promise<Output>;

/** A profile by name and, once it is found, by UID, because the name may move to another profile. */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/** The context of key commands. */
export type KeysContext = Globals & {
  clock: Clock;
  perform: Perform;
  /**
   * Returns a {@link Perform} for an operation that the person confirms: it refuses (`changed_since`) if the key or profile has
   * changed since this call, which throws `not_found`.
   */
  performUnlessChanged: (about: { identifier: string } | NamedProfile) => Perform;
  approvalLeaseMs: number;
  /** Defaults by input. Absent inputs don't apply to this key, and are not prompted for. */
  defaults: (operation: AnyOperation, key: KeyView) => Readonly<Record<string, unknown>>;
  /**
   * Throws the refusal that the operation on this key would cause now; if the operation mails a secret, also that of the mail
   * server. Returns further facts to confirm.
   */
  prepare: (
    operation: AnyOperation,
    key: KeyView,
    given: Readonly<Record<string, unknown>>,
  ) => Promise<readonly (readonly [name: string, value: string])[]>;
  /** Throws `refused` or `try_later` if no mail can be sent now. */
  checkMailer: () => Promise<void>;
  /** Throws `not_found` or `refused` if this profile can't have another key. */
  checkProfile: (named: NamedProfile) => void;
  /** The profile with this name, with its current username. Throws `not_found`. */
  findProfile: (named: NamedProfile) => NamedProfile;
};

/** Makes the context of key commands. */
export function keysContext({ deps, actor, ...globals }: Context): KeysContext {
  const { clock, approvalLeaseMs } = deps;
  return {
    ...globals,
    clock,
    approvalLeaseMs,
    perform: (operation, input) => performAndSend(deps, actor, operation, input),
    performUnlessChanged: (about) => {
      const shown =
        'identifier' in about ? keyVersion(deps, about.identifier) : shownProfile(deps.db, find(deps, about).profileId);
      return (operation, input) => performAndSend(deps, withShownVersion(actor, shown), operation, input);
    },
    defaults: (operation, key) => operation.defaults(deps, key),
    prepare: async (operation, key, given) => {
      operation.check(deps, { ...given, identifier: key.identifier });
      operation.refuse(key, given, { approvalLeaseMs, nowMs: clock.nowMs() });
      if (operation.continuation) await whileMailIsChecked(clock, checkMailer(deps));
      return operation.alsoConfirmed(deps, key);
    },
    checkMailer: () => checkMailer(deps),
    checkProfile: (named) => checkProfile(deps, find(deps, named).profileId),
    findProfile: (named) => find(deps, named),
  };
}

/** The same context with a `perform` that refuses once this key has changed (`performUnlessChanged`). */
export function unlessKeyChanged(context: KeysContext, identifier: string): KeysContext {
  return { ...context, perform: context.performUnlessChanged({ identifier }) };
}

/** Performs a whole operation, and tries once to send the mails that it stored, in case no server is running. */
export async function performAndSend<Input extends object, Output>(
  deps: Deps,
  actor: Person,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const output = await performWhole(deps, actor, operation, input);
  if (!isOutcome(output)) return output;
  const { identifier, noticeIds, warning } = output;
  return { ...output, warning: warning ?? (await sendOnce(deps, { identifier }, noticeIds)) };
}

function find({ db }: Deps, { profile, profileId }: NamedProfile): { profile: string; profileId: number } {
  const { id, username } = profileId === undefined ? findProfile(db, profile) : readProfile(db, profileId);
  return { profile: username, profileId: id };
}
