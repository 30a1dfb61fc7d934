import type { Clock } from '../../shared/clock.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import type { AnyOperation, Operation } from '../../shared/operations/entry.ts';
import type { Globals } from '../context.ts';

/** Does an operation as the person of a command. Throws what `perform` of `shared/operations.ts` throws. */
export type Perform = <Input extends object, Output>(
  operation: Operation<Input, Output>,
  input: Input,
) => Promise<Output>;

/** A profile that a command is about: on the box its UID once it was found, so that a name that moves on misleads nobody. */
export type NamedProfile = { profile: string; profileId?: number | undefined };

/** What the commands of keys need. Most do not know whether it is done in the database of this machine or by a server. */
export type KeysContext = KeysHere | KeysThere;

/** At a server elsewhere: there admins decide on a page, by their passkey (`remote/decide.ts`). */
export type KeysThere = AnyKeys & {
  /** The address of the server that is asked. */
  server: string;
};

/** In the database of this machine. */
export type KeysHere = AnyKeys & {
  server: null;
  /** Throws `refused` or `try_later` where no mail can be sent now. */
  checkMailer: () => Promise<void>;
};

/** What somebody who is about to confirm an operation has to know. */
export type Prepared = {
  /** What is filled in where nothing is given, by input; what is absent is not asked for of this key. */
  usual: Readonly<Record<string, unknown>>;
  /** What is confirmed beside the input: names and values. */
  alsoConfirmed: readonly (readonly [name: string, value: string])[];
};

type AnyKeys = Globals & {
  clock: Clock;
  perform: Perform;
  /**
   * The same for something that is about to be shown and then done: once the key, or the profile, is not any more as it is
   * now, nothing is done (`changed_since`). A server elsewhere compares by itself. Throws `not_found`.
   */
  performAsNow: (about: { identifier: string } | NamedProfile) => Perform;
  /** How long an attempt to approve a key keeps others from it, in milliseconds. */
  approvalLeaseMs: number;
  /**
   * Throws what would refuse an operation on this key just now, as far as it is known here. The mail server is asked where a
   * mail is needed.
   */
  prepare: (operation: AnyOperation, key: KeyView, given: Readonly<Record<string, unknown>>) => Promise<Prepared>;
  /** The profile whose owner the person of this command is; null where it is somebody else. */
  ownProfile: () => Promise<string | null>;
  /** Throws `not_found` or `refused` where this profile can't have one more key. */
  checkProfile: (named: NamedProfile) => void;
  /** The profile that a name leads to, as it is called now. Throws `not_found`. */
  findProfile: (named: NamedProfile) => NamedProfile;
};

/** A context for what is shown and then done to one key: see `performAsNow`. */
export function forKeyAsNow<Context extends KeysContext>(context: Context, identifier: string): Context {
  return { ...context, perform: context.performAsNow({ identifier }) };
}
