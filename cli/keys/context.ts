import type { Clock } from '../../shared/clock.ts';
import type { RateLimit } from '../../shared/limits/rate-limit.ts';
import type { Operation } from '../../shared/operations.ts';
import type { Globals } from '../context.ts';

/** What a command hears and says while something is done. */
export type While = {
  /** Tells the person at the terminal something on stderr. */
  say: (text: string) => void;
  /** Aborted by Ctrl-C: nothing more is to be begun then. */
  signal: AbortSignal;
};

/** What the commands of keys need. They do not know whether it is done in the database of this machine or by a server. */
export type KeysContext = Globals & {
  clock: Clock;
  /** The address of the server that is asked; null on the box. */
  server: string | null;
  /** Does an operation as the person of this command. Throws what `perform` of `shared/operations.ts` throws. */
  perform: <Input extends object, Output>(
    operation: Operation<Input, Output>,
    input: Input,
    during?: While,
  ) => Promise<Output>;
  /** The profile whose owner the person of this command is; null where it is somebody else. */
  ownProfile: () => Promise<string | null>;
  /** Throws `refused` or `try_later` where no mail can be sent now. */
  checkMailer: () => Promise<void>;
  /** Throws what would keep this key from being approved now. Returns the address of its secret, null where only the server knows. */
  checkApproval: (identifier: string) => Promise<string | null>;
  /** Throws `not_found` or `refused` where this profile can't have one more key. */
  checkProfile: (profile: string) => void;
  /** The rate limits that an approval grants where none are given; `successorOf` is the key that is replaced, or null. */
  usualRateLimits: (successorOf: string | null) => Promise<RateLimit[]>;
  /** How long an attempt to approve a key keeps others from it, in milliseconds. */
  approvalLeaseMs: number;
};
