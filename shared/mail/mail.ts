import type { NoticeKind } from '../db/key-columns.ts';

/** A message ready to be sent to one address. Text is plain UTF-8 with `\n` line ends. */
export type Mail = {
  kind: 'approval' | NoticeKind | 'sign-in' | 'test';
  /** The key that it is about; empty in a test, and where it carries a code to sign in. */
  identifier: string;
  to: string;
  /** Where answers go; left out where nobody is to be asked by mail. */
  replyTo?: string | undefined;
  subject: string;
  text: string;
  html: string | null;
};

/**
 * What became of a message. `refused`: it certainly was not accepted, and `permanent` says whether trying again as it is
 * can help, `isAddressRefused` whether that is because of the recipient's address, `isServerDown` whether no other mail would
 * be accepted either; `unknown`: the connection was lost where it may have been. `reason` is a whole sentence for the admin
 * that says what to do and holds no address and no secret.
 */
export type Delivery =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; permanent: boolean; isAddressRefused?: boolean; isServerDown?: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

/** How mail leaves. Neither function throws. */
export type Mailer = {
  /** Hands over a message, in at most 60 s. A rehearsal only writes the message and throws it away, which takes as long. */
  send: (mail: Mail, isRehearsal?: boolean) => Promise<Delivery>;
  /** Whether mail can be sent now: connects and logs in, in at most 10 s, or looks whether the folder can be written. */
  check: () => Promise<Delivery>;
};
