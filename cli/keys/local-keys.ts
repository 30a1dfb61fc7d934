import type { Person } from '../../shared/actor.ts';
import { checkMailer } from '../../shared/approval/approve.ts';
import type { Deps } from '../../shared/deps.ts';
import { keyVersion } from '../../shared/keys/key-version.ts';
import { checkProfile } from '../../shared/keys/life/lifecycle.ts';
import type { Operation } from '../../shared/operations/entry.ts';
import { isOutcome, performWhole } from '../../shared/operations.ts';
import { findProfile, readProfile } from '../../shared/profiles/find.ts';
import { shownProfile } from '../../shared/profiles/profile-version.ts';
import { sendOnce } from '../../shared/upkeep/delivery/deliver.ts';
import type { Globals } from '../context.ts';
import { type Operator, withShownVersion } from '../database.ts';
import { whileMailIsChecked } from '../terminal/waiting.ts';
import type { LocalKeys, NamedProfile } from './context.ts';

/** Makes the context of key commands that use the local database. */
export function localKeys(deps: Deps, operator: Operator): Omit<LocalKeys, keyof Globals> {
  const { clock, approvalLeaseMs } = deps;
  return {
    clock,
    approvalLeaseMs,
    server: null,
    perform: (operation, input) => performAndSend(deps, operator, operation, input),
    performUnlessChanged: (about) => {
      const shown =
        'identifier' in about ? keyVersion(deps, about.identifier) : shownProfile(deps.db, find(deps, about).profileId);
      return (operation, input) => performAndSend(deps, withShownVersion(operator, shown), operation, input);
    },
    defaults: (operation, key) => operation.defaults(deps, key),
    prepare: async (operation, key, given) => {
      operation.check(deps, { ...given, identifier: key.identifier });
      operation.refuse(key, given, { approvalLeaseMs, nowMs: clock.nowMs() });
      if (operation.continuation) await whileMailIsChecked(clock, checkMailer(deps));
      return operation.alsoConfirmed(deps, key);
    },
    ownProfile: async () => null,
    checkMailer: () => checkMailer(deps),
    checkProfile: (named) => checkProfile(deps, find(deps, named).profileId),
    findProfile: (named) => find(deps, named),
  };
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
