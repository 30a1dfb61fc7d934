import { afterAll } from 'bun:test';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Report } from '../../server/portal/services.ts';
import type { Deps } from '../../shared/deps.ts';
import * as delivery from '../../shared/mail/delivery.ts';
import { storeReminders } from '../../shared/mail/reminders.ts';
import { testCertificate } from './network.ts';
import { noteSecretsIn } from './secret-search.ts';
import { testConfig } from './world.ts';

/** The settings of a service of which no admin is told anything. */
export const MAIL_CONFIG = testConfig({ MAIL_URL: 'file:/nowhere' });

/** A message that a test server accepted; `raw` is the whole message with `\r\n` line ends. */
export type ReceivedMail = {
  from: string;
  to: string[];
  raw: string;
  overTls: boolean;
  user: string | null;
  /** How the sender called itself. */
  ehlo: string;
};

/** A step that a test server refuses, with its reply, for example `450 4.2.0 try later`. */
export type SmtpFailures = Partial<Record<'connect' | 'mail' | 'rcpt' | 'data', string>>;

/** How a test server behaves. */
type SmtpSetup = {
  /** TLS from the first byte (smtps). */
  secure?: boolean;
  /** Whether STARTTLS is offered; default true. */
  starttls?: boolean;
  /** The only accepted login; without it the server requires none. */
  login?: { user: string; password: string };
  /** Whether the login may be unencrypted; default false. */
  clearLogin?: boolean;
  certificate?: 'localhost' | 'elsewhere';
  /** May be changed while the server runs. */
  failures?: SmtpFailures;
  /** Called with each recipient before it is accepted; if it never resolves, the dialogue hangs. */
  onRecipient?: (address: string) => Promise<void>;
  /** Called with each message before it is accepted. */
  onMessage?: (mail: ReceivedMail) => void | Promise<void>;
};

/** A running test server on 127.0.0.1. `url` is a `MAIL_URL` with the login in it. */
export type TestSmtp = {
  url: string;
  port: number;
  received: ReceivedMail[];
  failures: SmtpFailures;
  stop: () => Promise<void>;
};

/**
 * Starts a real SMTP server (npm smtp-server) on a port that the system assigns, and stops it when the test file is done.
 * Clients that verify its certificate need `TEST_CA` of certificates.ts; over loopback the product does not verify it.
 */
export async function startSmtp(setup: SmtpSetup = {}): Promise<TestSmtp> {
  const received: ReceivedMail[] = [];
  const failures = setup.failures ?? {};
  const server = new SMTPServer({
    ...transportOptions(setup),
    ...refusals(setup, failures),
    ...receiver(setup, failures, received),
  });
  server.on('error', () => {});
  const port = await listen(server.server);
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  afterAll(stop);
  const login = setup.login && `${encodeURIComponent(setup.login.user)}:${encodeURIComponent(setup.login.password)}@`;
  return {
    url: `${setup.secure ? 'smtps' : 'smtp'}://${login ?? ''}127.0.0.1:${port}`,
    port,
    received,
    failures,
    stop,
  };
}

function transportOptions(setup: SmtpSetup): SMTPServerOptions {
  const { cert, key } = testCertificate(setup.certificate);
  return {
    cert,
    key,
    secure: setup.secure ?? false,
    authOptional: setup.login === undefined,
    allowInsecureAuth: setup.clearLogin ?? false,
    disabledCommands: [
      ...(setup.starttls === false ? ['STARTTLS'] : []),
      ...(setup.login === undefined ? ['AUTH'] : []),
    ],
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
    onAuth(auth, _session, done) {
      const { login } = setup;
      if (auth.username === login?.user && auth.password === login?.password)
        return done(null, { user: auth.username });
      // Real servers echo the login; so does this one, so that tests can check that errors don't contain it.
      done(replyError(`535 5.7.8 Error: authentication failed for ${auth.username} with ${auth.password}`));
    },
  };
}

function refusals(setup: SmtpSetup, failures: SmtpFailures): SMTPServerOptions {
  const answer = (reply: string | undefined) => (reply === undefined ? null : replyError(reply));
  return {
    onConnect: (_session, done) => done(answer(failures.connect)),
    onMailFrom: (_address, _session, done) => done(answer(failures.mail)),
    onRcptTo: async ({ address }, _session, done) => {
      await setup.onRecipient?.(address);
      done(answer(failures.rcpt));
    },
  };
}

function receiver(setup: SmtpSetup, failures: SmtpFailures, received: ReceivedMail[]): SMTPServerOptions {
  return {
    async onData(stream, session, done) {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of stream) chunks.push(chunk as Buffer);
      } catch {
        return; // The client has disconnected.
      }
      if (failures.data !== undefined) return done(replyError(failures.data));
      const { mailFrom, rcptTo } = session.envelope;
      const mail: ReceivedMail = {
        from: mailFrom === false ? '' : mailFrom.address,
        to: rcptTo.map((address) => address.address),
        raw: Buffer.concat(chunks).toString('latin1'),
        overTls: session.secure,
        ehlo: String(session.hostNameAppearsAs),
        user: (session.user as unknown as string | false | undefined) || null,
      };
      noteSecretsIn(mail.raw);
      await setup.onMessage?.(mail);
      received.push(mail);
      done();
    },
  };
}

function replyError(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

/** The stage at which a server fails; `content` is the first byte after its 354, `dot` the end of data. */
export type SmtpStage = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | 'dot';

/** The fault: silence, endless continuation lines, a closed connection, or this reply (`\r\n` is added). */
export type SmtpFault = 'silence' | 'drip' | 'close' | `${number}${' ' | '-'}${string}`;

/** A faulty server. `port` is on 127.0.0.1. */
export type BrokenSmtp = {
  port: number;
  /** The stages reached, in order. */
  seen: SmtpStage[];
  /** Everything received after DATA. */
  content: () => string;
  /** Resolves when the client's connection is closed. */
  closed: Promise<void>;
  stop: () => void;
};

/** Starts a server that speaks just enough SMTP to fail at one stage, in ways that a real server can't be made to fail. */
export async function startBrokenSmtp(faults: Partial<Record<SmtpStage, SmtpFault>>): Promise<BrokenSmtp> {
  const { promise: closed, resolve: setClosed } = Promise.withResolvers<void>();
  const conversation: Conversation = { faults, seen: [], content: '' };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => setClosed());
    converse(socket, conversation);
  });
  const port = await listen(server);
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  afterAll(stop);
  return { port, seen: conversation.seen, content: () => conversation.content, closed, stop };
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}

const REPLIES: Record<SmtpStage, string> = {
  greeting: '220 broken.example.org',
  EHLO: '250-broken.example.org\r\n250 AUTH PLAIN',
  STARTTLS: '502 5.5.1 not implemented',
  AUTH: '235 2.7.0 welcome',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  content: '',
  dot: '250 2.0.0 queued',
};

/** A client's dialogue with a faulty server: its faults, and what has happened so far. */
export type Conversation = { faults: Partial<Record<SmtpStage, SmtpFault>>; seen: SmtpStage[]; content: string };

/** Answers a client until a fault ends it. */
export function converse(socket: Socket, conversation: Conversation): void {
  let inContent = false;
  let inHandshake = false;
  let pending = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    // A TLS handshake is never answered. Its random bytes may contain a line end, but no command before it.
    if (inHandshake) return;
    if (inContent) {
      if (conversation.content === '') reach('content', socket, conversation);
      conversation.content += chunk;
      if (!conversation.content.endsWith('\r\n.\r\n')) return;
      inContent = false;
      reach('dot', socket, conversation);
      return;
    }
    pending += chunk;
    const lines = pending.split('\r\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      const stage = line.split(' ')[0] as SmtpStage;
      const answer = reach(stage, socket, conversation);
      inContent = answer.startsWith('354');
      inHandshake = stage === 'STARTTLS' && answer.startsWith('220');
    }
  });
  socket.on('close', () => noteSecretsIn(conversation.content));
  reach('greeting', socket, conversation);
}

function reach(stage: SmtpStage, socket: Socket, { faults, seen }: Conversation): string {
  const earlier = seen.at(-1);
  if (earlier !== undefined && faults[earlier] === 'silence') return '';
  seen.push(stage);
  const answer = faults[stage] ?? REPLIES[stage] ?? '500 5.5.2 unknown command';
  if (answer === 'close') socket.destroy();
  else if (answer === 'drip') drip(socket);
  else if (answer !== 'silence' && answer !== '') socket.write(`${answer}\r\n`);
  return answer;
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('250-still at it\r\n'), 5);
  socket.on('close', () => clearInterval(timer));
}

/** A message as a mail program parses it. Header names are in lower case, folded lines are joined. */
export type ReadMail = { headers: Map<string, string>; text: string };

/** Parses a message of the product: plain text in UTF-8, as it is or quoted-printable. */
export function readMail(raw: string): ReadMail {
  const message = raw.replaceAll('\r\n', '\n');
  return { headers: readHeaders(message), text: readBody(message) };
}

function readHeaders(text: string): Map<string, string> {
  const head = text.slice(0, text.indexOf('\n\n')).replace(/\n[ \t]+/g, ' ');
  return new Map(
    head.split('\n').map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
}

function readBody(part: string): string {
  const body = part.slice(part.indexOf('\n\n') + 2);
  if (readHeaders(part).get('content-transfer-encoding') !== 'quoted-printable') return body;
  const bytes = body
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/**
 * A request received by the webhook. `url` is path and query; `isClosed` says whether its connection has been closed.
 */
export type Posted = { method: string; url: string; type: string; body: string; isClosed: boolean };

/**
 * The four kinds of webhook URLs, each with what that chat shows of a body; ntfy fills in a template, as documented.
 */
export const FORMS: Readonly<Record<string, { path: string; shown: (body: Record<string, unknown>) => unknown }>> = {
  Discord: { path: '/api/webhooks/1234/s3cret-token', shown: ({ content }) => content },
  Slack: { path: '/services/T0001/B0002/s3cret-token', shown: ({ text }) => text },
  Mattermost: { path: '/hooks/s3cret-token', shown: ({ text }) => text },
  ntfy: { path: '/s3cret-token?tpl=1&m={{.text}}', shown: ({ text }) => text },
};

/** A webhook on loopback over real HTTP. `answer` answers each request, by default with 204. */
export type Webhook = { url: string; posted: Posted[]; answer: (response: ServerResponse) => unknown };

/** Starts a webhook whose URL ends with this path. It is stopped when the test file is done. */
export async function startWebhook(path = '/hooks/s3cret-token'): Promise<Webhook> {
  const webhook: Webhook = { url: '', posted: [], answer: (response) => response.writeHead(204).end() };
  const server = createHttpServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method = '', url = '', headers } = request;
    const posted = { method, url, type: headers['content-type'] ?? '', body, isClosed: false };
    response.on('close', () => {
      posted.isClosed = true;
    });
    webhook.posted.push(posted);
    webhook.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  webhook.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return webhook;
}

/** A response with this status, and these headers. */
export function status(code: number, headers: Record<string, string> = {}): Webhook['answer'] {
  return (response) => response.writeHead(code, headers).end('no');
}

/** A response whose body never ends, sent as fast as it is read. */
export function endless(response: ServerResponse): void {
  response.writeHead(200);
  const part = 'a'.repeat(65_536);
  const push = () => {
    while (response.write(part));
  };
  response.on('drain', push);
  push();
}

/** Does what the server's timers do: stores due reminders, drops old mails and sends due ones. */
export async function sendDueMails(deps: Deps, report: Report, withReminders: boolean): Promise<void> {
  const { db, clock, config } = deps;
  if (withReminders) storeReminders(db, clock.nowMs(), config);
  delivery.dropOldMails(db, clock.nowMs(), report);
  await delivery.sendDueMails(deps, report);
}
