import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import MimeNode from 'nodemailer/lib/mime-node';
import { encode, wrap } from 'nodemailer/lib/qp';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { isLoopback } from '../net.ts';
import { cleanForTerminal } from '../text.ts';
import { isMailAddress } from './address.ts';
import { checkFolder, writeToFolder } from './folder.ts';
import type { Delivery, Mail, Mailer } from './mail.ts';
import { type Failure, refusalOf, unconfirmed } from './refusal.ts';
import type { MailTarget } from './target.ts';

/** The time limit of a delivery, in milliseconds. */
export const DELIVERY_TIMEOUT_MS = 60_000;

/** The sender's name, and settings that only tests change. */
export type MailerOptions = {
  /** `PUBLIC_NAME`; by default the program's name. */
  senderName?: string;
  /** By default {@link DELIVERY_TIMEOUT_MS}. */
  timeoutMs?: number;
  /** A certificate authority (PEM) to trust instead of the system's. */
  ca?: string;
  /** Whether verified TLS is required; by default for every server that is not on loopback. */
  isRemote?: boolean;
};

type Sender = { name: string; address: string };
type Server = Extract<MailTarget, { kind: 'server' }>;

const DEFAULT_SENDER = 'profile-lookup@localhost';
const SETUP_TIMEOUT_MS = 30_000;
const FAREWELL_MS = 1_000;
const CHECK_TIMEOUT_MS = 10_000;

/** Makes a mailer that sends through a mail server or writes to a folder. `from` is `MAIL_FROM`, which a server requires. */
export function createMailer(target: MailTarget, from: string | null, options: MailerOptions = {}): Mailer {
  return {
    async check() {
      if (target.kind === 'folder') return await checkFolder(target.folder);
      const timeoutMs = Math.min(CHECK_TIMEOUT_MS, options.timeoutMs ?? CHECK_TIMEOUT_MS);
      const envelope = { from: from ?? '', to: '', size: 0 };
      return await deliver(target, envelope, null, 'test', { ...options, timeoutMs });
    },
    async send(mail, isRehearsal = false) {
      const sender = from ?? (target.kind === 'folder' ? DEFAULT_SENDER : '');
      const fault = addressFault(sender, mail);
      if (fault !== null) return { outcome: 'refused', permanent: true, reason: fault };
      try {
        const named = { name: options.senderName ?? 'Profile Lookup', address: sender };
        const message = await composeMessage(mail, named, target.kind === 'folder' ? '\n' : '\r\n');
        if (isRehearsal) return { outcome: 'accepted' };
        if (target.kind === 'folder') return await writeToFolder(target.folder, mail, message);
        return await deliver(target, { from: sender, to: mail.to, size: message.length }, message, mail.kind, options);
      } catch {
        return {
          outcome: 'refused',
          permanent: true,
          reason: 'The mail could not be composed or started because of a bug in this program; please report it.',
        };
      }
    },
  };
}

function addressFault(sender: string, mail: Mail): string | null {
  if (sender !== DEFAULT_SENDER && !isMailAddress(sender)) {
    return 'The mail has no sender; set MAIL_FROM to one plain e-mail address.';
  }
  if (isMailAddress(mail.to)) return null;
  return mail.kind === 'request'
    ? 'The admin can’t be notified; set ADMIN_EMAIL to plain e-mail addresses.'
    : "The profile's e-mail address is not a single plain address; correct it and try again.";
}

/** Builds the message (RFC 5322, MIME). The caller has checked the addresses; nodemailer folds and encodes headers. */
async function composeMessage(mail: Mail, from: Sender, lineEnd: '\n' | '\r\n'): Promise<Buffer> {
  const root = new MimeNode('multipart/alternative', {
    newline: lineEnd,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  root.setHeader([
    { key: 'From', value: from },
    { key: 'To', value: { name: '', address: mail.to } },
    ...(mail.replyTo === undefined ? [] : [{ key: 'Reply-To', value: { name: '', address: mail.replyTo } }]),
    { key: 'Subject', value: cleanForTerminal(mail.subject) },
    { key: 'Message-ID', value: `<${randomUUID()}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>` },
    { key: 'Auto-Submitted', value: 'auto-generated' },
  ]);
  root.createChild().setRaw(composePart('text/plain', mail.text));
  if (mail.html !== null) root.createChild().setRaw(composePart('text/html', mail.html));
  return await root.build();
}

/**
 * Builds one MIME part with `\r\n` line endings. ASCII text is sent unencoded, so that command lines of more than 76 characters
 * stay whole in the raw message; other text as quoted-printable, which leaves short ASCII lines, such as a secret, whole.
 */
function composePart(type: string, content: string): string {
  const lines = content.split('\n');
  const asItIs = /^[\t\n -~]*$/.test(content) && lines.every((line) => line.length <= 998);
  const body = lines.join('\r\n');
  return [
    `Content-Type: ${type}; charset=utf-8`,
    `Content-Transfer-Encoding: ${asItIs ? '7bit' : 'quoted-printable'}`,
    '',
    asItIs ? body : wrap(encode(body)),
  ].join('\r\n');
}

/**
 * Runs one SMTP transaction; without a message, only the login. nodemailer does not report at which step a connection was lost,
 * so `contentBegun` records whether it had begun to read the content: before that, the server can't have accepted the mail;
 * afterwards, only its reply shows whether it did. A failure before RCPT would affect every other mail, too.
 */
function deliver(
  server: Server,
  envelope: { from: string; to: string; size: number },
  message: Buffer | null,
  kind: Mail['kind'],
  options: MailerOptions,
): Promise<Delivery> {
  const context = { server, kind, recipient: envelope.to, sender: envelope.from };
  const timeoutMs = options.timeoutMs ?? DELIVERY_TIMEOUT_MS;
  let contentBegun = false;
  let isAdmitted = false;
  const content = new Readable({
    read() {
      contentBegun = true;
      this.push(message);
      this.push(null);
    },
  });
  const connection = new SMTPConnection(connectionOptions(server, timeoutMs, options));
  return new Promise((resolve) => {
    const timer = setTimeout(() => fail({ code: 'ETIMEDOUT' }), timeoutMs);
    const finish = (delivery: Delivery) => {
      clearTimeout(timer);
      resolve(delivery); // Later calls are ignored: closing emits `end`.
      if (delivery.outcome === 'accepted') sayGoodbye(connection);
      else connection.close();
    };
    const fail = (failure: Failure) => {
      const isAnswer = /^[45]\d\d$/.test(String(failure.responseCode));
      if (contentBegun && !isAnswer) return finish(unconfirmed(failure, context));
      const isServerDown = !isAdmitted || failure.command?.startsWith('MAIL') === true;
      finish({ ...refusalOf(failure, context), isServerDown });
    };
    const send = () => {
      isAdmitted = true;
      if (message === null) return finish({ outcome: 'accepted' });
      connection.send(envelope, content, (error) => (error ? fail(error) : finish({ outcome: 'accepted' })));
    };
    connection.on('error', fail);
    connection.once('end', () => fail({ code: 'ECONNECTION' }));
    connection.connect((error) => {
      if (error) fail(error);
      // If the server does not offer AUTH, no login is tried; a server that requires one refuses the next command.
      else if (server.login === null || !connection.allowsAuth) send();
      else {
        const { user, password } = server.login;
        connection.login({ credentials: { user, pass: password } }, (error) => (error ? fail(error) : send()));
      }
    });
  });
}

/** Sends QUIT, because some servers log an error without it, and closes the connection within a second. */
function sayGoodbye(connection: SMTPConnection): void {
  connection.quit();
  setTimeout(() => connection.close(), FAREWELL_MS).unref();
}

// Over a network, TLS with a verified certificate is required. On this machine encryption protects nobody, and the usual
// certificate (of a local Postfix) is self-signed, so TLS is used unverified if the server offers it.
function connectionOptions(server: Server, timeoutMs: number, options: MailerOptions) {
  const isRemote = options.isRemote ?? !isLoopback(server.host);
  const setupMs = Math.min(SETUP_TIMEOUT_MS, timeoutMs);
  return {
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: isRemote && !server.secure,
    tls: { rejectUnauthorized: isRemote, ...(options.ca !== undefined && { ca: options.ca }) },
    dnsTimeout: setupMs,
    connectionTimeout: setupMs,
    greetingTimeout: setupMs,
    socketTimeout: timeoutMs,
    socketCloseTimeout: 0,
    logger: false,
  };
}
