import type { Clock } from '../../shared/clock.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation, Operation } from '../../shared/operations/entry.ts';
import type { Globals } from '../context.ts';

/** Performs an operation as the person who runs the command. Throws what `perform` of `shared/operations.ts` throws. */
export type Perform = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
) => Promise<Output>;

/** A profile by name, and on the box also by UID once it was found, because the name may later lead to another profile. */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/** What the commands on keys need. Most work the same with the local database and with a server. */
export type KeysContext = LocalKeys | RemoteKeys;

/** Keys on a remote server, where admins decide on a page with their passkey (`remote/decide.ts`). */
export type RemoteKeys = AnyKeys & {
  /** The server's address. */
  server: string;
};

/** Keys in the local database. */
export type LocalKeys = AnyKeys & {
  server: null;
  /** Throws `refused` or `try_later` if no mail can be sent now. */
  checkMailer: () => Promise<void>;
};

type AnyKeys = Globals & {
  clock: Clock;
  perform: Perform;
  /**
   * Returns a {@link Perform} that refuses (`changed_since`) once the key or profile differs from what it is now: for what is
   * first shown to a person and then done. At a server it refuses once the key differs from what it has shown; the token is
   * bound to the owner's profile. Throws `not_found`.
   */
  performUnlessChanged: (about: { identifier: string } | NamedProfile) => Perform;
  /** How long an attempt to approve a key keeps others from starting one, in milliseconds. */
  approvalLeaseMs: number;
  /** Defaults by input; an absent input is not asked for, because it doesn't apply to this key. */
  usual: (operation: AnyOperation, key: KeyView) => Readonly<Record<string, unknown>>;
  /**
   * Throws the refusal that an operation on this key would meet now, as far as this machine knows. If the operation sends a
   * secret by mail, it also checks the mail server. Returns what is confirmed besides the input: names and values.
   */
  prepare: (
    operation: AnyOperation,
    key: KeyView,
    given: Readonly<Record<string, unknown>>,
  ) => Promise<readonly (readonly [name: string, value: string])[]>;
  /** The profile whose owner runs the command; null for anyone but an owner. */
  ownProfile: () => Promise<string | null>;
  /** Throws `not_found` or `refused` if this profile can't have one more key. */
  checkProfile: (named: NamedProfile) => void;
  /** The profile that a name leads to, with its present username. Throws `not_found`. */
  findProfile: (named: NamedProfile) => NamedProfile;
};

/** The same context, with a `perform` that refuses once this key differs from what it is now: see `performUnlessChanged`. */
export function unlessKeyChanged<Context extends KeysContext>(context: Context, identifier: string): Context {
  return { ...context, perform: context.performUnlessChanged({ identifier }) };
}
