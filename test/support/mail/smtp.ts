import { afterAll } from 'bun:test';
import { createServer, type Server, type Socket } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { testCertificate } from '../network/certificates.ts';
import { noteSecretsIn } from '../secret-search.ts';
import { type Conversation, converse } from './smtp-dialogue.ts';

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
