import { afterAll } from 'bun:test';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { readConfig } from '../../shared/config/config.ts';
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
  failures?: Partial<Record<'connect' | 'mail' | 'rcpt', string>>;
  /** Called with each message before it is accepted. */
  onMessage?: (mail: ReceivedMail) => void | Promise<void>;
};

/**
 * Starts a real SMTP server (npm smtp-server) on a port of 127.0.0.1 that the system assigns, and stops it when the test file is
 * done. Its `url` is a `MAIL_URL` with the login. Over loopback the product does not verify its certificate.
 */
export async function startSmtp({ login, failures = {}, onMessage, ...options }: SmtpSetup = {}) {
  const received: ReceivedMail[] = [];
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
    onConnect: (_session, done) => done(replyError(failures.connect)),
    onMailFrom: (_address, _session, done) => done(replyError(failures.mail)),
    onRcptTo: (_address, _session, done) => done(replyError(failures.rcpt)),
    async onData(stream, session, done) {
      // Null if the client disconnects.
      const chunks = await Array.fromAsync(stream, (chunk) => chunk as Buffer).catch(() => null);
      if (chunks === null) return;
      const raw = Buffer.concat(chunks).toString('latin1');
      const { mailFrom, rcptTo } = session.envelope;
      const mail = { from: mailFrom ? mailFrom.address : '', to: rcptTo.map(({ address }) => address), raw, session };
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

function replyError(reply?: string): Error | null {
  if (reply === undefined) return null;
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

const REPLIES = {
  greeting: '220 broken.example.org',
  EHLO: '250-broken.example.org\r\n250 AUTH PLAIN',
  HELO: '500 5.5.2 unknown command',
  STARTTLS: '502 5.5.1 not implemented',
  AUTH: '235 2.7.0 welcome',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  content: '',
  dot: '250 2.0.0 queued',
} as const;

/** The stage at which a server fails; `content` is the first byte after its 354, `dot` the end of data. */
export type SmtpStage = keyof typeof REPLIES;

/** The fault: silence, a closed connection, this reply (`\r\n` is added), or whatever a function does with the connection. */
export type SmtpFault = 'silence' | 'close' | `${number}${' ' | '-'}${string}` | ((socket: Socket) => void);

/**
 * Starts a server that speaks just enough SMTP to fail at one stage, in ways that a real server can't be made to fail. `seen` are
 * the stages reached, in order; `content` returns everything received after DATA; `closed` resolves when the client's connection
 * is closed.
 */
export async function startBrokenSmtp(faults: Partial<Record<SmtpStage, SmtpFault>>) {
  const seen: SmtpStage[] = [];
  let content = '';
  const { promise: closed, resolve: setClosed } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    let isContent = false;
    const reach = (stage: SmtpStage) => {
      seen.push(stage);
      const answer = faults[stage] ?? REPLIES[stage];
      if (typeof answer === 'function') answer(socket);
      else if (answer === 'close') socket.destroy();
      else if (answer !== 'silence' && answer !== '') socket.write(`${answer}\r\n`);
      isContent = stage === 'content' || (typeof answer === 'string' && answer.startsWith('354'));
    };
    createInterface(socket).on('line', (line) => {
      if (isContent) {
        if (content === '') reach('content');
        content += `${line}\r\n`;
        if (line === '.') reach('dot');
        return;
      }
      // Nothing else is answered, such as a TLS handshake.
      const command = line.split(' ')[0] as SmtpStage;
      if (command in REPLIES) reach(command);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      noteSecretsIn(content);
      setClosed();
    });
    reach('greeting');
  });
  const port = await listen(server);
  afterAll(() => void server.close());
  return { port, seen, content: () => content, closed };
}
