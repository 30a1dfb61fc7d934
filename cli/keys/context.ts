import type { Command } from 'commander';
import type { Clock } from '../../shared/clock.ts';
import type { RateLimit } from '../../shared/limits/rate-limit.ts';
import type { Operation } from '../../shared/operations.ts';
import { type Globals, withContext } from '../context.ts';

/** What the commands of keys need. They do not know whether it is done in the database of this machine. */
export type KeysContext = Globals & {
  clock: Clock;
  /** Does an operation as the person of this command. Throws what `perform` of `shared/operations.ts` throws. */
  perform: <Input extends object, Output>(operation: Operation<Input, Output>, input: Input) => Promise<Output>;
  /** Throws `refused` or `try_later` where no mail can be sent now. */
  checkMailer: () => Promise<void>;
  /** Throws what would keep this key from being approved now. Returns the address that its secret would go to. */
  checkApproval: (identifier: string) => Promise<string>;
  /** Throws `not_found` or `refused` where this profile can't have one more key. */
  checkProfile: (profile: string) => void;
  /** The rate limits that an approval grants where none are given; `successorOf` is the key that is replaced, or null. */
  usualRateLimits: (successorOf: string | null) => Promise<RateLimit[]>;
  /** How long an attempt to approve a key keeps others from it, in milliseconds. */
  approvalLeaseMs: number;
};

/** Runs a command of keys. Throws what {@link withContext} and the command throw. */
export async function withKeys<T>(command: Command, act: (context: KeysContext) => Promise<T> | T): Promise<T> {
  return withContext(command, 'use', async ({ deps, actor, ...globals }) => {
    const { perform } = await import('../../shared/operations.ts');
    const { checkApproval, checkMailer } = await import('../../shared/keys/approve.ts');
    const { checkProfile } = await import('../../shared/keys/lifecycle.ts');
    const { usualRateLimits } = await import('../../shared/keys/successor.ts');
    const { clock, approvalLeaseMs } = deps;
    return act({
      ...globals,
      clock,
      approvalLeaseMs,
      perform: (operation, input) => perform(deps, actor, operation, input),
      checkMailer: () => checkMailer(deps),
      checkApproval: (identifier) => checkApproval(deps, identifier),
      checkProfile: (profile) => checkProfile(deps, profile),
      usualRateLimits: async (successorOf) => usualRateLimits(deps, successorOf),
    });
  });
}
