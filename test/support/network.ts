import { afterAll } from 'bun:test';
import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { PROJECT } from './cli.ts';
import { tempFolder } from './world.ts';

/** Caddy with the project's configuration. */
export type ReverseProxy = { httpsPort: number; httpPort: number; printed: () => string };

/** An IP address of this machine that differs from the proxy's, so that the log distinguishes them. */
export const CLIENT_ADDRESS = '127.0.0.9';

/** Whether Caddy is installed. */
export const HAS_CADDY = Bun.which('caddy') !== null;

/** Ports outside the default ephemeral ranges of Linux and macOS, which the system does not assign. */
const UNASSIGNED_PORTS = { min: 10_000, max: 32_000 } as const;

/**
 * A port of 127.0.0.1 for a server that starts later, but whose URL is needed before. The system assigns it neither
 * to a test that asks for any port, nor to a connection.
 */
export function freePort(): number {
  for (;;) {
    const port = randomInt(UNASSIGNED_PORTS.min, UNASSIGNED_PORTS.max);
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
}

/** The text of `deploy/Caddyfile` with parts replaced, each of which must exist. */
function caddyfile(replacements: Record<string, string>): string {
  let text = readFileSync(join(PROJECT, 'deploy/Caddyfile'), 'utf8');
  for (const [part, other] of Object.entries(replacements)) {
    if (!text.includes(part)) throw new Error(`deploy/Caddyfile does not say: ${part}`);
    text = text.replaceAll(part, other);
  }
  return text;
}

/** Runs Caddy with `deploy/Caddyfile`, but with other ports and the test certificate. */
export async function startCaddy(upstreamPort: number, more: Record<string, string> = {}): Promise<ReverseProxy> {
  const folder = tempFolder();
  const [httpsPort, httpPort] = [freePort(), freePort()];
  const { certFile, keyFile } = testCertificate();
  const text = caddyfile({
    '{\n\t# API keys': `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port ${httpPort}\n\thttps_port ${httpsPort}\n\t# API keys`,
    '\napi.example.org {': `\nlocalhost {\n\ttls ${certFile} ${keyFile}`,
    'http://api.example.org {': 'http://localhost {',
    '127.0.0.1:3000': `127.0.0.1:${upstreamPort}`,
    ...more,
  });
  writeFileSync(join(folder, 'Caddyfile'), text);
  const child = Bun.spawn(['caddy', 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  afterAll(async () => {
    child.kill('SIGTERM');
    await child.exited;
  });
  let printed = '';
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) printed += decoder.decode(chunk, { stream: true });
  };
  void gather(child.stdout);
  void gather(child.stderr);
  const proxy = { httpsPort, httpPort, printed: () => printed };
  for (let tries = 0; ; tries++) {
    if ((await accepts(httpsPort)) && (await accepts(httpPort))) return proxy;
    if (child.exitCode !== null || tries > 500) throw new Error(`Caddy did not start: ${printed}`);
    await Bun.sleep(20);
  }
}

/** Whether a program listens on a port. Sends no request: the server behind the proxy may not run yet. */
async function accepts(port: number): Promise<boolean> {
  try {
    (await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}

/** A response that came through a proxy. */
export type Forwarded = { status: number; headers: Record<string, unknown>; body: Buffer };

/** Sends a request to a proxy from {@link CLIENT_ADDRESS}, over verified HTTPS or plain HTTP; a form is sent by POST. */
export function through(
  proxy: ReverseProxy,
  path: string,
  headers: Record<string, string> = {},
  scheme: 'https' | 'http' = 'https',
  sent: 'GET' | 'HEAD' | { form: Record<string, string> } = 'GET',
): Promise<Forwarded> {
  const body = typeof sent === 'string' ? '' : new URLSearchParams(sent.form).toString();
  const ofForm = { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(body) };
  const { promise, resolve, reject } = Promise.withResolvers<Forwarded>();
  const options = {
    host: '127.0.0.1',
    port: scheme === 'https' ? proxy.httpsPort : proxy.httpPort,
    path,
    method: typeof sent === 'string' ? sent : 'POST',
    headers: { Host: 'localhost', ...(typeof sent !== 'string' && ofForm), ...headers },
    localAddress: CLIENT_ADDRESS,
    servername: 'localhost',
    ca: TEST_CA,
    agent: false as const,
  };
  const ask = scheme === 'https' ? requestHttps : requestHttp;
  ask(options, (answer) => {
    const chunks: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => chunks.push(chunk));
    answer.on('end', () =>
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks) }),
    );
  })
    .on('error', reject)
    .end(body);
  return promise;
}

const FOLDER = join(import.meta.dir, 'certificates');

/** The certificate of the authority that signed the test certificates, for `NODE_EXTRA_CA_CERTS` of a child process. */
export const TEST_CA_FILE = join(FOLDER, 'ca.pem');

/** The certificate in {@link TEST_CA_FILE}, as PEM text. */
export const TEST_CA = readFileSync(TEST_CA_FILE, 'utf8');

/**
 * A test certificate and its key, as PEM text and as files. `localhost` is valid for localhost, 127.0.0.1 and ::1;
 * `elsewhere` only for mail.example.org. Both are valid from 2020 to 2120.
 */
export function testCertificate(name: 'localhost' | 'elsewhere' = 'localhost') {
  const certFile = join(FOLDER, `${name}.pem`);
  const keyFile = join(FOLDER, `${name}.key`);
  return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}

/** One response on a raw connection. */
export type WireAnswer = { status: number; head: string; body: string };

/** A connection with pipelined requests. `answers` waits for that many responses, or for the end. */
export function openConnection(port: number): {
  socket: Socket;
  send: (text: string) => void;
  answers: (count: number) => Promise<WireAnswer[]>;
} {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  let wake = () => {};
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  const answers = async (count: number): Promise<WireAnswer[]> => {
    for (;;) {
      const found = readAnswers(text);
      if (found.length >= count || isClosed) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, send: (more) => void socket.write(Buffer.from(more, 'latin1')), answers };
}

/** The complete responses at the start of a string, each with a Content-Length or without a body. */
export function readAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let from = 0; ; ) {
    const end = text.indexOf('\r\n\r\n', from);
    if (end === -1) return answers;
    const head = text.slice(from, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (text.length < end + 4 + length) return answers;
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    answers.push({ status, head, body: text.slice(end + 4, end + 4 + length) });
    from = end + 4 + length;
  }
}
