import { readFileSync } from 'node:fs';
import type { Config } from '../shared/config.ts';
import { AppError } from '../shared/errors.ts';
import { prepareRefusals } from './refusals.ts';

/** The sockets of the server. */
export type Listener = {
  /** Scheme, host and real port, without a trailing slash. */
  url: string;
  port: number;
  /** Changes over to this certificate, or reads its files again. Throws `bad_config`. */
  reloadTls: (agreed?: Tls) => void;
  /** Soon accepts nothing more, waits for what is in flight, and cuts it off after {@link STOP_MS}. */
  stop: () => Promise<void>;
};

/** Answers a request that came from this peer. */
export type Fetch = (request: Request, peer: string) => Response | Promise<Response>;

/** How long requests in flight may take to finish when the server stops. */
export const STOP_MS = 10_000;

/** How long a stopping server reads on, so that requests on their way are told to come back. */
const LINGER_MS = 50;

const STEP_MS = 10;

/** Longer without a byte either way, and the connection is closed; Bun ends slow bodies by it too. */
const IDLE_SECONDS = 10;

/** No request of this API has a body, and none is read; Bun answers most longer ones with 413 by itself. */
const MAX_BODY_BYTES = 16 * 1024;

/** The port's own certificate and key, PEM; null for plain HTTP. */
export type Tls = { cert: string; key: string } | null;

/**
 * Binds and starts. With `shared`, other threads listen on the port too, and the certificate is what they agreed on.
 * Throws `refused` where the address is taken or not to be had, `bad_config` for a bad certificate.
 */
export function startListening(
  config: Config,
  port: number,
  fetch: Fetch,
  shared: { tls: Tls } | null = null,
): Listener {
  const tls = shared === null ? readTls(config) : shared.tls;
  // Two listeners share the port while a certificate is changed; so that this never lets in a second server, the
  // first is bound once without sharing.
  if (shared === null && tls !== null) probePort(config, port, null);
  let server = bind(config, port, tls, shared !== null || tls !== null, fetch);
  const boundPort = server.port as number;
  /** Those with an earlier certificate, until what was in flight on them is done. */
  const former: (typeof server)[] = [];
  return {
    url: urlOf(config, boundPort),
    port: boundPort,
    reloadTls: (agreed) => {
      if (tls === null) return;
      const next = bind(config, boundPort, agreed ?? readTls(config), true, fetch);
      // Keeps what is in flight on the old certificate until it is done.
      void server.stop();
      former.push(server);
      server = next;
    },
    stop: async () => {
      // What has arrived already is read and answered first: Bun drops it where a connection looks idle.
      await Bun.sleep(LINGER_MS);
      void server.stop();
      const all = [server, ...former];
      // Not the promises of stop(): they wait for connections that only stay open, over TLS all of them.
      for (let waited = 0; waited < STOP_MS && all.some((one) => one.pendingRequests > 0); waited += STEP_MS) {
        await Bun.sleep(STEP_MS);
      }
      await Promise.all(all.map((one) => one.stop(true)));
    },
  };
}

/** Scheme, host and port. */
export function urlOf(config: Config, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls === null ? 'http' : 'https'}://${host}:${port}`;
}

/** Binds a port, or any free one for 0, that nobody else has, and lets it go; returns it. Throws as {@link startListening}. */
export function probePort(config: Config, port: number, tls: Tls): number {
  const server = bind(config, port, tls, false, () => new Response());
  const bound = server.port as number;
  void server.stop(true);
  return bound;
}

/** Reads the certificate and its key. Throws `bad_config`. */
export function readTls({ tls }: Config): Tls {
  if (tls === null) return null;
  try {
    return { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') };
  } catch (cause) {
    throw new AppError(
      'bad_config',
      `TLS_CERT_FILE (${tls.certFile}) or TLS_KEY_FILE (${tls.keyFile}) can't be read.`,
      {
        cause,
      },
    );
  }
}

function bind({ host }: Config, port: number, tls: Tls, reusePort: boolean, fetch: Fetch): Bun.Server<undefined> {
  try {
    return Bun.serve({
      hostname: host,
      port,
      reusePort,
      ...(tls && { tls }),
      development: false,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: MAX_BODY_BYTES,
      fetch: (request, server) => fetch(request, server.requestIP(request)?.address ?? ''),
      // What nothing else has caught; a maker of its own, since it knows of no request whose id it could repeat.
      error: (error) => prepareRefusals(tls !== null)(error, null).response,
    });
  } catch (cause) {
    throw bindFault(cause, host, port);
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
      'TLS_CERT_FILE and TLS_KEY_FILE must hold a PEM certificate and the private key that belongs to it.';
    return new AppError('bad_config', sentence, { cause });
  }
  return new AppError('refused', `The server can't listen on port ${port} of ${host}; set HOST and PORT.`, { cause });
}
