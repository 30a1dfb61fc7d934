import { randomUUID } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { encode, wrap } from 'nodemailer/lib/qp';
import { isoTime, systemClock } from '../clock.ts';
import { isLoopback } from '../net.ts';
import { cleanForTerminal } from '../text.ts';
import { isMailAddress, type MailTarget } from './address.ts';
import type { Text } from './compose.ts';

/** A composed mail and its recipient. */
export type Mail = Text & { to: string };

/**
 * The result of sending a message. `refused`: it was certainly not accepted; if `permanent`, it is useless to send it again
 * unchanged: because of this very mail or its recipient if `about` says so, otherwise because of the settings or the server.
 * `unknown`: the connection was lost, and the message may have been accepted. `reason` is a sentence without e-mail addresses
 * and secrets.
 */
export type Delivery =
  | { outcome: 'accepted' }
  | { outcome: 'refused'; permanent: boolean; about?: 'mail'; reason: string }
  | { outcome: 'unknown'; reason: string };

/** Sends mail, in a minute unless told otherwise. Never rejects. */
export type Mailer = { send: (mail: Mail, options?: { timeoutMs?: number }) => Promise<Delivery> };

/** How mails are sent; the last three are only for tests. */
export type MailerOptions = {
  /** The sender's name; by default the program's. */
  senderName?: string;
  replyTo?: string | null;
  /** The name of this machine in EHLO. */
  machine?: string;
  timeoutMs?: number;
  /** A certificate authority (PEM) to trust instead of the system's. */
  ca?: string;
  /** Whether verified TLS is required; by default for every server that is not on loopback. */
  isRemote?: boolean;
};

type Server = Extract<MailTarget, { kind: 'server' }>;

/** The longest time of a delivery, in milliseconds. */
const DELIVERY_TIMEOUT_MS = 60_000;
const DEFAULT_SENDER = 'profile-lookup@localhost';

/** Makes a mailer that sends through a mail server or writes to a folder. `from` is `MAIL_FROM`, which a server requires. */
export function createMailer(target: MailTarget, from: string | null, options: MailerOptions = {}): Mailer {
  const sender = from ?? (target.kind === 'folder' ? DEFAULT_SENDER : '');
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows', ...NO_ACCESS });
  return {
    async send(mail, { timeoutMs = DELIVERY_TIMEOUT_MS } = {}) {
      if (!isMailAddress(sender)) return refusal('The mail has no sender; set MAIL_FROM to one plain e-mail address.');
      if (!isMailAddress(mail.to)) {
        return refusal('The recipient is not a single plain e-mail address; correct it and try again.', true, 'mail');
      }
      const message = {
        from: { name: options.senderName ?? 'Profile Lookup', address: sender },
        to: { name: '', address: mail.to },
        envelope: { from: sender, to: [mail.to] },
        ...(options.replyTo && { replyTo: { name: '', address: options.replyTo } }),
        subject: cleanForTerminal(mail.subject),
        text: 'x',
        headers: { 'Auto-Submitted': 'auto-generated' },
        messageId: `<${randomUUID()}@${sender.slice(sender.lastIndexOf('@') + 1)}>`,
        xMailer: false as const,
      };
      const composed = await composer.sendMail(message);
      const raw = withText(String(composed.message), mail.text);
      if (target.kind === 'folder') return await writeToFolder(target.folder, mail, raw.replaceAll('\r\n', '\n'));
      const timeout = options.timeoutMs ?? timeoutMs;
      return await sendToServer(target, { envelope: message.envelope, raw }, { ...options, timeoutMs: timeout });
    },
  };
}

/**
 * The message with this text. ASCII is sent as it is, so that a command line stays whole in the raw message; other text as
 * quoted-printable line by line, where nodemailer's own stream would break a secret in two.
 */
function withText(message: string, text: string): string {
  const [head = ''] = message.split('\r\n\r\n', 1);
  const isPlain = /^[\t\n -~]*$/.test(text) && text.split('\n').every((line) => line.length <= 998);
  const encoding = isPlain ? '7bit' : 'quoted-printable';
  const body = text.replaceAll('\n', '\r\n');
  const header = head.replace(/^(Content-Transfer-Encoding): .*$/m, `$1: ${encoding}`);
  return `${header}\r\n\r\n${isPlain ? body : wrap(encode(body))}`;
}

const NO_ACCESS = { disableFileAccess: true, disableUrlAccess: true } as const;

function refusal(reason: string, permanent = true, about?: 'mail'): Delivery {
  return { outcome: 'refused', permanent, ...(about && { about }), reason };
}

async function sendToServer(
  server: Server,
  message: { envelope: { from: string; to: string[] }; raw: string },
  options: MailerOptions & { timeoutMs: number },
): Promise<Delivery> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  try {
    await transportTo(server, options).sendMail({ ...message, signal });
    return { outcome: 'accepted' };
  } catch (error) {
    const failure = signal.aborted ? { code: 'ETIMEDOUT' } : (error as Failure);
    return outcomeOf(failure, server, [message.envelope.from, ...message.envelope.to]);
  }
}

// Over a network, TLS with a verified certificate is required. On this machine encryption protects nobody, and the usual
// certificate (of a local Postfix) is self-signed, so TLS is used unverified if the server offers it.
function transportTo(server: Server, options: MailerOptions & { timeoutMs: number }) {
  const { timeoutMs, ca, machine } = options;
  const isRemote = options.isRemote ?? !isLoopback(server.host);
  return createTransport({
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: isRemote && !server.secure,
    ...(server.login && { auth: { user: server.login.user, pass: server.login.password } }),
    ...(machine !== undefined && { name: machine }),
    tls: { rejectUnauthorized: isRemote, ...(ca !== undefined && { ca }) },
    dnsTimeout: timeoutMs,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    logger: false,
    ...NO_ACCESS,
  });
}

/** An error of nodemailer. */
type Failure = {
  code?: string;
  /** The operating system's or TLS's code, if `code` is nodemailer's. */
  originalCode?: string;
  /** The step that failed: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  command?: string;
  response?: string;
  responseCode?: number;
  message?: string;
};

/** What to check, by the step that the server refused for good. */
const ADVICE: Record<string, string> = {
  AUTH: 'check the user and password in MAIL_URL',
  STARTTLS: 'no mail is sent to it unencrypted; set MAIL_URL to another port or to smtps://',
  MAIL: 'check MAIL_FROM, and whether MAIL_URL needs a user and password',
  RCPT: "check the recipient's e-mail address",
};

/** How Microsoft 365 answers (535 5.7.139) where it has switched off passwords for SMTP. */
const NO_PASSWORDS =
  'it accepts no passwords (basic login) for this account, and this program does not speak XOAUTH2; have them allowed, or send through a relay on this machine';

/**
 * Whether the message was certainly not accepted: the server said so, or the connection failed in a way that only happens
 * before the conversation. A connection that was closed or timed out looks alike before and after the message.
 */
function outcomeOf(failure: Failure, server: Server, addresses: readonly string[]): Delivery {
  const name = `The mail server ${server.host.includes(':') ? `[${server.host}]` : server.host}:${server.port}`;
  const { responseCode = 0, code = '' } = failure;
  const cause = failure.originalCode ?? code;
  if (responseCode >= 400 && responseCode <= 599) {
    const step = (failure.command ?? '').split(' ')[0] ?? '';
    const permanent = responseCode >= 500;
    const isWithoutPasswords = step === 'AUTH' && /\b5\.7\.139\b/.test(failure.response ?? '');
    const known = isWithoutPasswords ? NO_PASSWORDS : ADVICE[step];
    const advice = permanent ? (known ?? 'ask its operator why') : 'try again later';
    const answer = quoteAnswer(failure.response ?? '', server, addresses);
    const about = step === 'RCPT' || step === 'DATA' ? 'mail' : undefined;
    return refusal(`${name} refused ${step || 'this machine'} ("${answer}"); ${advice}.`, permanent, about);
  }
  if (/CERT|ALTNAME|ISSUER|SIGNATURE|CHAIN|SELF_SIGNED/.test(cause)) {
    const trust = 'use its host name in MAIL_URL, or set NODE_EXTRA_CA_CERTS to the file of its certificate authority';
    return refusal(`${name} has a certificate that can't be trusted (${cause}); ${trust}.`);
  }
  if (code === 'EAUTH') return refusal(`${name} offers no supported login method; check MAIL_URL.`);
  if (code === 'ETLS' || /SSL|^EPROTO$/.test(cause)) {
    return refusal(`${name} did not begin encryption; check whether its port needs smtp:// or smtps:// in MAIL_URL.`);
  }
  if (code === 'EDNS' || /^E(CONNREFUSED|HOST|NET|ADDR|ACCES|PERM)/.test(cause)) {
    return refusal(`${name} can't be reached (${cause}); check the host and port in MAIL_URL, and the network.`, false);
  }
  const late = code === 'ETIMEDOUT' ? 'did not answer in time' : 'closed the connection or did not speak SMTP';
  const check = 'its log may say which; check also whether its port needs smtp:// or smtps:// in MAIL_URL';
  return { outcome: 'unknown', reason: `${name} ${late}, so the mail may or may not arrive; ${check}.` };
}

const MAX_REPLY_LENGTH = 200;

/** The server's reply on one line, without anything that looks like an e-mail address, a secret or the login. */
function quoteAnswer(response: string, { login }: Server, addresses: readonly string[]): string {
  let text = cleanForTerminal(response.replace(/^(\d{3})[ -]/gm, (_prefix, code, at) => (at === 0 ? `${code} ` : '')));
  const credentials = login === null ? [] : [`\0${login.user}\0${login.password}`, login.password, login.user];
  const encoded = credentials.map((word) => Buffer.from(word).toString('base64'));
  for (const word of [...addresses, ...encoded, ...credentials]) {
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

/**
 * Writes a message to `<folder>/<UTC time>-<kind>-<identifier>.eml`, mode 0600. A missing folder is created with mode
 * 0700. The file gets its name once it is complete and flushed to disk.
 */
async function writeToFolder(folder: string, { kind, identifier }: Mail, message: string): Promise<Delivery> {
  const unfinished = join(folder, `.${randomUUID()}.unfinished`);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using file = await open(unfinished, 'wx', 0o600);
    await file.writeFile(message);
    await file.sync();
    renameSync(unfinished, freeName(folder, kind, identifier));
    return { outcome: 'accepted' };
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => undefined);
    return folderRefusal(folder, error);
  }
}

function folderRefusal(folder: string, error: unknown): Delivery {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  const advice = isFull ? 'free some space there' : 'check that MAIL_URL names a folder that this user may write to';
  return refusal(`The mail could not be written to the folder ${folder} (${code}); ${advice}.`, !isFull);
}

/** The path of a new file, named by the next millisecond of which there is none. */
function freeName(folder: string, kind: string, identifier: string): string {
  for (let atMs = systemClock.nowMs(); ; atMs++) {
    const time = isoTime(atMs).replace(/[-:]/g, '');
    const words = [time, kind, identifier.replace(/[^0-9A-Za-z]/g, '')].filter(Boolean);
    const path = join(folder, `${words.join('-')}.eml`);
    if (!existsSync(path)) return path;
  }
}
