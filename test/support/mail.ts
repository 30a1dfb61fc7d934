import { afterAll } from 'bun:test';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import type { Log } from '../../server/observability/log.ts';
import { readConfig } from '../../shared/config/config.ts';
import type { Deps } from '../../shared/deps.ts';
import * as delivery from '../../shared/mail/delivery.ts';
import { storeReminders } from '../../shared/mail/reminders.ts';
import { testCertificate } from './network.ts';
import { noteSecretsIn } from './secret-search.ts';

/** The settings of a service of which no admin is told anything. */
export const MAIL_CONFIG = readConfig({ MAIL_URL: 'file:/nowhere' });

/** A message that a test server accepted; `raw` is the whole message with `\r\n` line ends. */
export type ReceivedMail = { from: string; to: string[]; raw: string; session: SMTPServerSession };

/** How a test server behaves, beside the options of smtp-server. */
type SmtpSetup = SMTPServerOptions & {
  /** The only accepted login; without it the server requires none. */
  login?: { user: string; password: string };
  /** The steps that it refuses, with its reply, for example `450 4.2.0 try later`; may be changed while it runs. */
  failures?: Partial<Record<'connect' | 'mail' | 'rcpt' | 'data', string>>;
  /** Called with each message before it is accepted. */
  onMessage?: (mail: ReceivedMail) => void | Promise<void>;
};

/**
 * Starts a real SMTP server (npm smtp-server) on a port of 127.0.0.1 that the system assigns, and stops it when the test file is
 * done. Its `url` is a `MAIL_URL` with the login. Over loopback the product does not verify its certificate.
 */
export async function startSmtp({ login, failures = {}, onMessage, ...options }: SmtpSetup = {}) {
  const received: ReceivedMail[] = [];
  const answer = (reply: string | undefined) => (reply === undefined ? null : replyError(reply));
  const server = new SMTPServer({
    ...testCertificate(),
    authOptional: login === undefined,
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
    onAuth({ username, password }, _session, done) {
      if (username === login?.user && password === login?.password) return done(null, { user: username });
      // Real servers echo the login; so does this one, so that tests can check that errors don't contain it.
      done(replyError(`535 5.7.8 Error: authentication failed for ${username} with ${password}`));
    },
    onConnect: (_session, done) => done(answer(failures.connect)),
    onMailFrom: (_address, _session, done) => done(answer(failures.mail)),
    onRcptTo: (_address, _session, done) => done(answer(failures.rcpt)),
    async onData(stream, session, done) {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of stream) chunks.push(chunk as Buffer);
      } catch {
        return; // The client has disconnected.
      }
      if (failures.data !== undefined) return done(replyError(failures.data));
      const { mailFrom, rcptTo } = session.envelope;
      const from = mailFrom === false ? '' : mailFrom.address;
      const raw = Buffer.concat(chunks).toString('latin1');
      const mail = { from, to: rcptTo.map(({ address }) => address), raw, session };
      noteSecretsIn(raw);
      await onMessage?.(mail);
      received.push(mail);
      done();
    },
    ...options,
  });
  server.on('error', () => {});
  const port = await listen(server.server);
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  afterAll(stop);
  const user = login && `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  const url = `${options.secure ? 'smtps' : 'smtp'}://${user ?? ''}127.0.0.1:${port}`;
  return { url, port, received, failures, stop };
}

function replyError(reply: string): Error {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

/** The stage at which a server fails; `content` is the first byte after its 354, `dot` the end of data. */
export type SmtpStage = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | 'dot';

/** The fault: silence, endless continuation lines, a closed connection, or this reply (`\r\n` is added). */
export type SmtpFault = 'silence' | 'drip' | 'close' | `${number}${' ' | '-'}${string}`;

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

/**
 * Starts a server that speaks just enough SMTP to fail at one stage, in ways that a real server can't be made to fail. `seen` are
 * the stages reached, in order; `content` returns everything received after DATA; `closed` resolves when the client's connection
 * is closed.
 */
export async function startBrokenSmtp(faults: Partial<Record<SmtpStage, SmtpFault>>) {
  const seen: SmtpStage[] = [];
  let content = '';
  const { promise: closed, resolve: setClosed } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const reach = (stage: SmtpStage): string => {
      seen.push(stage);
      const answer = faults[stage] ?? REPLIES[stage] ?? '500 5.5.2 unknown command';
      if (answer === 'close') socket.destroy();
      else if (answer === 'drip') drip(socket);
      else if (answer !== 'silence' && answer !== '') socket.write(`${answer}\r\n`);
      return answer;
    };
    let [isContent, isHandshake] = [false, false];
    createInterface(socket).on('line', (line) => {
      // A TLS handshake is never answered. Its random bytes may contain a line end, but no command before it.
      if (isHandshake) return;
      if (isContent) {
        if (content === '') reach('content');
        content += `${line}\r\n`;
        isContent = line !== '.';
        if (!isContent) reach('dot');
        return;
      }
      const stage = line.split(' ')[0] as SmtpStage;
      const answer = reach(stage);
      isContent = answer.startsWith('354');
      isHandshake = stage === 'STARTTLS' && answer.startsWith('220');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      noteSecretsIn(content);
      setClosed();
    });
    reach('greeting');
  });
  const port = await listen(server);
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  afterAll(stop);
  return { port, seen, content: () => content, closed, stop };
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('250-still at it\r\n'), 5);
  socket.on('close', () => clearInterval(timer));
}

/** Does what the server's timers do: stores due reminders, drops old mails and sends due ones. */
export async function sendDueMails(deps: Deps, report: Log['event'], withReminders: boolean): Promise<void> {
  const { db, clock, config } = deps;
  if (withReminders) storeReminders(db, clock.nowMs(), config);
  delivery.dropOldMails(db, clock.nowMs(), report);
  await delivery.sendDueMails(deps, report);
}
