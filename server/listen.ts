import { readFileSync } from 'node:fs';
import type { Config } from '../shared/config/config.ts';
import { AppError } from '../shared/errors.ts';

/** How long in-flight requests may take to finish once no more connections are accepted. */
const STOP_MS = 10_000;

/**
 * How long the listener drains before it accepts no more connections: it answers everything, with `Connection: close`. Bun's
 * stop() closes idle connections, and loses a request that is just arriving on one of them. A client that sends a request
 * during the drain has no idle connection left.
 */
export const DRAIN_MS = 1_000;

/** How much longer it drains over TLS: Bun's stop() also closes connections in the middle of their handshake. */
export const HANDSHAKE_MS = 500;

const STEP_MS = 10;

/** How long a connection may be idle, even in the middle of a request body, before it is closed. */
const IDLE_SECONDS = 10;

/**
 * Bun itself answers longer bodies with an empty 413. Shorter ones that are too long are refused with a sentence by those who
 * read them; an unread body takes no memory.
 */
const MAX_REQUEST_BYTES = 1024 * 1024 * 1024;

/** A listening socket. */
export type Listener = {
  /** Scheme, host and real port, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Knows connections: their remote address, and their idle timeout in seconds. */
  readonly server: Bun.Server<undefined>;
  /** Drains, accepts no more connections, and waits up to 10 s for in-flight requests. */
  readonly stop: () => Promise<void>;
};

/** How a request is answered; `error` is called if `fetch` throws, which should never happen. */
type Answering = {
  fetch: (request: Request) => Response | Promise<Response>;
  error: (error: unknown) => Response;
};

/**
 * Binds a port (0: any free one) and starts to answer. Throws `refused` if the port is in use or the host is not this machine's,
 * `bad_config` for a bad certificate.
 */
export function listen(config: Config, port: number, answering: Answering, drainMs: number = DRAIN_MS): Listener {
  const { host, tls } = config;
  let isDraining = false;
  const send = (response: Response) => {
    if (isDraining) response.headers.set('Connection', 'close');
    return response;
  };
  const server = bind(config, port, {
    fetch: (request) => {
      const response = answering.fetch(request);
      return response instanceof Promise ? response.then(send) : send(response);
    },
    error: (fault) => send(answering.error(fault)),
  });
  const bound = server.port as number;
  return {
    url: `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    server,
    stop: async () => {
      isDraining = true;
      await Bun.sleep(tls === null ? drainMs : drainMs + HANDSHAKE_MS);
      void server.stop();
      // The promise of stop() would also wait for connections that have not sent a request yet.
      for (let waited = 0; waited < STOP_MS && server.pendingRequests > 0; waited += STEP_MS) await Bun.sleep(STEP_MS);
      await server.stop(true);
    },
  };
}

function bind(config: Config, port: number, answering: Answering): Bun.Server<undefined> {
  const { host } = config;
  const tls = readTls(config);
  try {
    return Bun.serve({
      hostname: host,
      port,
      // Otherwise Bun lets a second server listen on the same port, which then gets half of the requests.
      reusePort: false,
      ...(tls && { tls }),
      development: false,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: MAX_REQUEST_BYTES,
      ...answering,
    });
  } catch (cause) {
    throw bindFault(cause, host, port);
  }
}

/** Reads the files of the certificate and key; null if none are configured. Throws `bad_config`. */
function readTls({ tls }: Config): { cert: string; key: string } | null {
  if (tls === null) return null;
  try {
    return { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') };
  } catch (cause) {
    const sentence = `TLS_CERT_FILE (${tls.certFile}) or TLS_KEY_FILE (${tls.keyFile}) can't be read.`;
    throw new AppError('bad_config', sentence, { cause });
  }
}

function bindFault(cause: unknown, host: string, port: number): AppError {
  const code = (cause as { code?: string }).code ?? '';
  if (code === 'EADDRINUSE') {
    const sentence = `Port ${port} on ${host} is in use by another program; set PORT (or HOST) to a free one.`;
    return new AppError('refused', sentence, { cause });
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL') {
    const sentence = `The server can't listen on port ${port} of ${host} (${code}); set HOST and PORT to what this machine allows.`;
    return new AppError('refused', sentence, { cause });
  }
  if (/SSL|PEM|certificate|key|BoringSSL/i.test(String(cause))) {
    const sentence =
      'TLS_CERT_FILE and TLS_KEY_FILE must contain a PEM certificate and the private key that belongs to it.';
    return new AppError('bad_config', sentence, { cause });
  }
  return new AppError('refused', `The server can't listen on port ${port} of ${host}; set HOST and PORT.`, { cause });
}
