/** A message ready to be sent to one address. Text is plain UTF-8 with `\n` line ends. */
export type Mail = {
  kind: 'approval' | 'rejection' | 'revocation' | 'change' | 'request' | 'reminder' | 'test';
  /** The key that it is about; empty in a test. */
  identifier: string;
  to: string;
  subject: string;
  text: string;
  html: string | null;
};

/**
 * What became of a message. `refused`: it certainly was not accepted, and `permanent` says whether trying again as it is
 * can help; `unknown`: the connection was lost where it may have been. `reason` is a whole sentence for the admin that
 * says what to do and holds no address and no secret.
 */
export type Delivery =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; permanent: boolean; reason: string }
  | { outcome: 'unknown'; reason: string };

/** Hands over a message, in at most 60 s; never throws. */
export type Mailer = { send: (mail: Mail) => Promise<Delivery> };
