import type { NoticeKind } from '../db/key-columns.ts';

/** A message to one recipient. Texts have `\n` line endings. */
export type Mail = {
  kind: 'approval' | NoticeKind | 'sign-in' | 'test';
  /** The identifier of the key that the mail is about; empty if it is not about one key. */
  identifier: string;
  to: string;
  replyTo?: string | undefined;
  subject: string;
  text: string;
  html: string | null;
};

/**
 * The result of sending a message. `refused`: it was certainly not accepted; if `permanent`, it is useless to send it again
 * unchanged; with `isAddressRefused`, the recipient's address is the cause; with `isServerDown`, the server would refuse any
 * mail. `unknown`: the connection was lost when the message may have been accepted. `reason` is a sentence that says what to do,
 * without e-mail addresses and secrets.
 */
export type Delivery =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; permanent: boolean; isAddressRefused?: boolean; isServerDown?: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

/** Sends mail. Its functions never reject. */
export type Mailer = {
  /** Sends a message, in at most 60 s. A rehearsal only composes the message, which takes the same time, and discards it. */
  send: (mail: Mail, isRehearsal?: boolean) => Promise<Delivery>;
  /** Checks whether mail can be sent now: connects and logs in, in at most 10 s, or checks that the folder is writable. */
  check: () => Promise<Delivery>;
};
