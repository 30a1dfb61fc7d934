import type { NoticeKind } from '../db/key-columns.ts';

/** A message ready to be sent to one address. Text is plain UTF-8 with `\n` line ends. */
export type Mail = {
  kind: 'approval' | NoticeKind | 'sign-in' | 'test';
  /** The identifier of the key that the mail is about; empty in a test mail and a mail with a sign-in code. */
  identifier: string;
  to: string;
  /** The address for replies; absent if nobody takes questions by mail. */
  replyTo?: string | undefined;
  subject: string;
  text: string;
  html: string | null;
};

/**
 * The result of sending a message. `refused`: it was certainly not accepted; `permanent` means that resending it
 * unchanged can't help, `isAddressRefused` that the cause is the recipient's address, `isServerDown` that no other mail
 * would be accepted either. `unknown`: the connection was lost when it may have been accepted. `reason` is a whole
 * sentence that tells the admin what to do, without an address or a secret.
 */
export type Delivery =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; permanent: boolean; isAddressRefused?: boolean; isServerDown?: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

/** Sends mail. Neither function throws. */
export type Mailer = {
  /** Sends a message, in at most 60 s. A rehearsal only composes the message and discards it, which takes as long. */
  send: (mail: Mail, isRehearsal?: boolean) => Promise<Delivery>;
  /**
   * Checks whether mail can be sent now: connects and logs in, in at most 10 s, or checks that the folder is writable.
   */
  check: () => Promise<Delivery>;
};
