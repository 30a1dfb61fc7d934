import type { Person } from '../../shared/actor.ts';
import type { Deps } from '../../shared/deps.ts';
import { checkApproval, checkMailer } from '../../shared/keys/approve.ts';
import { checkProfile } from '../../shared/keys/lifecycle.ts';
import { usualRateLimits } from '../../shared/keys/successor.ts';
import { perform } from '../../shared/operations.ts';
import type { Globals } from '../context.ts';
import type { KeysContext } from './context.ts';

/** What the commands of keys need, in the database of this machine. */
export function keysHere(deps: Deps, actor: Person): Omit<KeysContext, keyof Globals> {
  const { clock, approvalLeaseMs } = deps;
  return {
    clock,
    approvalLeaseMs,
    server: null,
    perform: (operation, input) => perform(deps, actor, operation, input),
    ownProfile: async () => null,
    checkMailer: () => checkMailer(deps),
    checkApproval: (identifier) => checkApproval(deps, identifier),
    checkProfile: (profile) => checkProfile(deps, profile),
    usualRateLimits: async (successorOf) => usualRateLimits(deps, successorOf),
  };
}
