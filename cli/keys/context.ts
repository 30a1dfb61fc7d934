import type { Clock } from '../../shared/clock.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation, Operation } from '../../shared/operations/entry.ts';
import type { Globals } from '../context.ts';

/** Performs an operation as the person who runs the command. Throws what `perform` of `shared/operations.ts` throws. */
export type Perform = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
) => Promise<Output>;

/**
 * A profile by name and, in a local database, by UID once it is found, because the name may move to another profile.
 */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/** The context of key commands. Most work the same with the local database and with a remote server. */
export type KeysContext = LocalKeys | RemoteKeys;

/** Keys on a remote server, where admins decide on a page with their passkey (`remote/decide.ts`). */
export type RemoteKeys = AnyKeys & {
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
   * Returns a {@link Perform} for an operation that the person confirms. On a local database it refuses (`changed_since`) if
   * the key or profile has changed since this call, which throws `not_found`. On a remote server it refuses if the key has
   * changed since this `Perform` last read it; the profile can't change, because the token is bound to it.
   */
  performUnlessChanged: (about: { identifier: string } | NamedProfile) => Perform;
  approvalLeaseMs: number;
  /** Defaults by input. Absent inputs don't apply to this key, and are not prompted for. */
  defaults: (operation: AnyOperation, key: KeyView) => Readonly<Record<string, unknown>>;
  /**
   * Throws the refusal that the operation on this key would cause now, as far as this machine knows. On a local
   * database it also checks the mail server if the operation mails a secret, and returns further facts to confirm.
   */
  prepare: (
    operation: AnyOperation,
    key: KeyView,
    given: Readonly<Record<string, unknown>>,
  ) => Promise<readonly (readonly [name: string, value: string])[]>;
  /** The profile whose owner runs the command; null if it is not run by an owner. */
  ownProfile: () => Promise<string | null>;
  /** Throws `not_found` or `refused` if this profile can't have another key. A remote server checks this itself. */
  checkProfile: (named: NamedProfile) => void;
  /** The profile with this name, with its current username; remotely, as given. Throws `not_found`. */
  findProfile: (named: NamedProfile) => NamedProfile;
};

/** The same context with a `perform` that refuses once this key has changed (`performUnlessChanged`). */
export function unlessKeyChanged<Context extends KeysContext>(context: Context, identifier: string): Context {
  return { ...context, perform: context.performUnlessChanged({ identifier }) };
}
