import { NOTICE_KINDS } from '../db/key-columns.ts';
import { cleanForTerminal } from '../text.ts';
import type { Delivery, Mail } from './mail.ts';
import type { MailTarget } from './target.ts';

/** An error of nodemailer, the operating system or TLS. */
export type Failure = {
  code?: string | undefined;
  /** The operating system's or TLS's code, if `code` is nodemailer's. */
  originalCode?: string | undefined;
  /** The step that failed: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  command?: string | undefined;
  response?: string | undefined;
  responseCode?: number | undefined;
};

/** The attempted delivery. The e-mail addresses and the login are only used to remove them from sentences. */
export type Attempted = {
  server: Extract<MailTarget, { kind: 'server' }>;
  kind: Mail['kind'];
  recipient: string;
  sender: string;
};

type Refusal = Extract<Delivery, { outcome: 'refused' }>;

/** The result for a message that was certainly not accepted. 5yz replies, untrusted certificates and missing TLS are permanent. */
export function refusalOf(failure: Failure, attempted: Attempted): Refusal {
  const refused = (permanent: boolean, sentence: string): Refusal => ({
    outcome: 'refused',
    permanent,
    reason: `The mail server ${nameOf(attempted)} ${sentence}`,
  });
  const code = failure.responseCode ?? 0;
  if (code >= 400) {
    const isAddressRefused = code >= 500 && (failure.command ?? '').startsWith('RCPT');
    const refusal = refused(code >= 500, answerSentence(failure, attempted, code >= 500));
    return isAddressRefused ? { ...refusal, isAddressRefused } : refusal;
  }
  return connectionRefusal(failure, refused);
}

/** The result if the connection was lost, or the server did not reply, while the content was being sent. */
export function unconfirmed(failure: Failure, attempted: Attempted): Extract<Delivery, { outcome: 'unknown' }> {
  const what = {
    ETIMEDOUT: 'did not confirm the message in time',
    EMESSAGE: 'gave a reply that neither accepts nor rejects the message',
    EPROTOCOL: 'gave a reply that neither accepts nor rejects the message',
  }[failure.code ?? ''];
  const happened = what ?? 'closed the connection before it confirmed the message';
  return {
    outcome: 'unknown',
    reason: `The mail server ${nameOf(attempted)} ${happened}, so the mail may or may not arrive; its log may say which.`,
  };
}

function whoseAddress(kind: Mail['kind']): string {
  if (kind === 'test') return 'the address';
  const whom = kind === 'approval' || kind === 'sign-in' ? 'owner' : NOTICE_KINDS[kind];
  return {
    admins: 'ADMIN_EMAIL',
    owner: "the profile's e-mail address",
    'former address': 'the former address of the profile',
  }[whom];
}

/** The rest of a sentence: the server's reply at a step, and what the admin can do. */
function answerSentence(failure: Failure, attempted: Attempted, isPermanent: boolean): string {
  const answer = `("${quoteAnswer(failure.response ?? '', attempted)}")`;
  const step = (failure.command ?? '').split(' ')[0];
  const later = isPermanent ? '' : ', or try again later';
  const owner = whoseAddress(attempted.kind);
  switch (step) {
    case 'AUTH':
      return `refused the login ${answer}; check the user and password in MAIL_URL${later}.`;
    case 'STARTTLS':
      return `refused STARTTLS ${answer}, and no mail is sent to it unencrypted; set MAIL_URL to another port or to smtps://${later}.`;
    case 'MAIL':
      return `refused the sender ${answer}; check MAIL_FROM, and whether MAIL_URL needs a user and password${later}.`;
    case 'RCPT':
      return `refused the recipient ${answer}; check ${owner}${later}.`;
    case 'DATA':
      return `refused the message ${answer}; ${isPermanent ? 'ask its operator why' : 'try again later'}.`;
    default:
      return `refused to serve this machine ${answer}; ${isPermanent ? 'check MAIL_URL, or ask its operator why' : 'try again later'}.`;
  }
}

function connectionRefusal(failure: Failure, refused: (permanent: boolean, sentence: string) => Refusal): Refusal {
  const cause = failure.originalCode ?? failure.code ?? '';
  if (/CERT|ALTNAME|ISSUER|SIGNATURE|CHAIN|SELF_SIGNED/.test(cause)) {
    return refused(
      true,
      `has a certificate that can't be trusted (${cause}); use the certificate's host name in MAIL_URL, or set NODE_EXTRA_CA_CERTS to the file of its certificate authority.`,
    );
  }
  if (failure.code === 'EAUTH') {
    return refused(true, 'offers no supported login method; check MAIL_URL, or ask its operator for PLAIN or LOGIN.');
  }
  if (failure.code === 'EDNS') {
    return refused(false, 'was not found; check the host in MAIL_URL and the name resolution of this machine.');
  }
  if (cause === 'ECONNREFUSED') {
    return refused(
      false,
      'refused the connection; check the host and port in MAIL_URL, and that the server is running.',
    );
  }
  if (failure.code === 'ETIMEDOUT' || cause === 'ETIMEDOUT') {
    return refused(
      false,
      'did not answer in time; check the host and port in MAIL_URL, whether the port needs smtp:// or smtps://, and firewalls.',
    );
  }
  if (/SSL|^EPROTO$/.test(cause)) {
    return refused(
      true,
      `does not speak TLS on this port (${cause}); check whether it needs smtp:// or smtps:// in MAIL_URL.`,
    );
  }
  if (failure.code === 'ETLS') {
    return refused(
      false,
      'closed the connection while encryption was being set up; try again later, or check its certificate and log.',
    );
  }
  if (failure.code === 'EPROTOCOL')
    return refused(true, 'does not speak SMTP on this port; check the host and port in MAIL_URL.');
  if (failure.code === 'EMESSAGE')
    return refused(true, 'does not accept messages of this size; ask its operator to allow them.');
  if (/^E(HOST|NET)|^EADDR|^EACCES|^EPERM/.test(cause)) {
    return refused(false, `can't be reached (${cause}); check the host and port in MAIL_URL, and the network.`);
  }
  return refused(false, 'closed the connection before the mail was sent; try again later, or check its log.');
}

function nameOf({ server }: Attempted): string {
  return server.host.includes(':') ? `[${server.host}]:${server.port}` : `${server.host}:${server.port}`;
}

const MAX_REPLY_LENGTH = 200;

/** The server's reply on one line, without anything that looks like an e-mail address, a secret or the login. */
function quoteAnswer(response: string, { server, recipient, sender }: Attempted): string {
  let text = cleanForTerminal(response.replace(/^(\d{3})[ -]/gm, (_prefix, code, at) => (at === 0 ? `${code} ` : '')));
  for (const word of [recipient, sender, ...credentials(server.login)]) {
    // A word of up to 3 characters is not a secret, and removing it everywhere would make the sentence unreadable.
    if (word.length > 3) text = text.replaceAll(word, '[removed]');
  }
  const cleaned = text
    .replace(/[^\s<>"'(),;:]*(?:@|%40|=40|\+40)[^\s<>"'(),;]*/gi, '[removed]')
    .replace(/plk_\w*/g, '[removed]')
    .replace(/\[removed\](?:\S*\[removed\])+/g, '[removed]')
    .replaceAll('"', "'")
    .trim();
  return [...cleaned].slice(0, MAX_REPLY_LENGTH).join('');
}

/** A login in all forms in which it is sent (RFC 4616, and AUTH LOGIN), since the server may repeat it. */
function credentials(login: Attempted['server']['login']): string[] {
  if (login === null) return [];
  const { user, password } = login;
  return [
    ...[`\0${user}\0${password}`, password, user].map((text) => Buffer.from(text).toString('base64')),
    password,
    user,
  ];
}
