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

/** Does an operation as the person of a command. Throws what `perform` of `shared/operations.ts` throws. */
export type Perform = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
  during?: While,
) => Promise<Output>;

/** A profile that a command is about: on the box its UID once it was found, so that a name that moves on misleads nobody. */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/** What the commands of keys need. They do not know whether it is done in the database of this machine or by a server. */
export type KeysContext = Globals & {
  clock: Clock;
  /** The address of the server that is asked; null on the box. */
  server: string | null;
  perform: Perform;
  /**
   * The same for something that is about to be shown and then done: once the key, or the profile, is not any more as it is
   * now, nothing is done (`changed_since`). A server elsewhere compares by itself. Throws `not_found`.
   */
  performAsNow: (about: { identifier: string } | NamedProfile) => Perform;
  /** The profile whose owner the person of this command is; null where it is somebody else. */
  ownProfile: () => Promise<string | null>;
  /** Throws `refused` or `try_later` where no mail can be sent now. */
  checkMailer: () => Promise<void>;
  /** Throws what would keep this key from being approved now. Returns the address of its secret, null where only the server knows. */
  checkApproval: (identifier: string) => Promise<string | null>;
  /** Throws `not_found` or `refused` where this profile can't have one more key. */
  checkProfile: (named: NamedProfile) => void;
  /** The profile that a name leads to, as it is called now. Throws `not_found`. */
  findProfile: (named: NamedProfile) => NamedProfile;
  /** The rate limits that an approval grants where none are given; `successorOf` is the key that is replaced, or null. */
  usualRateLimits: (successorOf: string | null) => Promise<RateLimit[]>;
  /** How long an attempt to approve a key keeps others from it, in milliseconds. */
  approvalLeaseMs: number;
};

/** A context for what is shown and then done to one key: see `performAsNow`. */
export function forKeyAsNow(context: KeysContext, identifier: string): KeysContext {
  return { ...context, perform: context.performAsNow({ identifier }) };
}
