import { readFileSync } from 'node:fs';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { prepareRefusals } from '../request/refusals.ts';

/** The sockets of the server. */
export type Listener = {
  /** Scheme, host and real port, without a trailing slash. */
  url: string;
  port: number;
  /**
   * Listens with this certificate, or with what its files hold now, and drains the listener of the old one; resolves when
   * that one accepts no more connections. Does nothing over plain HTTP or once `stop` was called. Throws `bad_config`.
   */
  reloadTls: (agreed?: Tls) => Promise<void>;
  /** Drains and accepts nothing more, waits for what is in flight, and cuts it off after {@link STOP_MS}. */
  stop: () => Promise<void>;
};

/** Answers a request that came from this peer. */
export type Fetch = (request: Request, peer: string) => Response | Promise<Response>;

/** How long requests in flight may take to finish once their listener accepts no more connections. */
export const STOP_MS = 10_000;

/**
 * How long a listener drains before it ends: it answers everything, and each answer closes its connection. Bun's stop()
 * closes connections that wait for their next request, and loses a request that is on its way on one of them; a client
 * that sends at least once in this time has no such connection by then.
 */
export const DRAIN_MS = 1_000;

const STEP_MS = 10;

/** Longer without a byte either way, and the connection is closed; Bun ends slow bodies by it too. */
const IDLE_SECONDS = 10;

/** No request of this API has a body, and none is read; Bun answers most longer ones with 413 by itself. */
const MAX_BODY_BYTES = 16 * 1024;

/** The port's own certificate and key, PEM; null for plain HTTP. */
export type Tls = { cert: string; key: string } | null;

/** A listening socket with one certificate; while it drains, every answer closes its connection. */
type Binding = { server: Bun.Server<undefined>; isDraining: boolean };

/** What a listener may be given: the certificate that all threads on its port agreed on, another time to drain. */
export type ListenerOptions = { shared?: { tls: Tls }; drainMs?: number | undefined };

/**
 * Binds and starts. With `shared`, other threads listen on the port too. Throws `refused` where the address is taken or
 * not to be had, `bad_config` for a bad certificate.
 */
export function startListening(
  config: Config,
  port: number,
  fetch: Fetch,
  { shared, drainMs = DRAIN_MS }: ListenerOptions = {},
): Listener {
  const tls = shared === undefined ? readTls(config) : shared.tls;
  // Two listeners share the port while a certificate is changed; so that this never lets in a second server, the
  // first is bound once without sharing.
  if (shared === undefined && tls !== null) probePort(config, port, null);
  let current = bind(config, port, tls, shared !== undefined || tls !== null, fetch);
  const boundPort = current.server.port as number;
  /** The listeners of earlier certificates, until what was in flight on them has ended. */
  const former = new Set<Binding>();
  return {
    url: urlOf(config, boundPort),
    port: boundPort,
    reloadTls: async (agreed) => {
      if (tls === null || current.isDraining) return;
      const old = current;
      current = bind(config, boundPort, agreed ?? readTls(config), true, fetch);
      former.add(old);
      await drain(old, drainMs);
      // Until then a connection that was accepted last may still send its first request.
      setTimeout(() => {
        former.delete(old);
        void old.server.stop(true);
      }, STOP_MS).unref();
    },
    stop: async () => {
      await drain(current, drainMs);
      const servers = [current, ...former].map(({ server }) => server);
      // The promises of stop() would also wait for connections that have not sent anything yet.
      for (let waited = 0; waited < STOP_MS && servers.some((one) => one.pendingRequests > 0); waited += STEP_MS) {
        await Bun.sleep(STEP_MS);
      }
      await Promise.all(servers.map((one) => one.stop(true)));
    },
  };
}

/** Closes each connection after its next answer, for this long, then accepts no more; what is in flight goes on. */
async function drain(binding: Binding, drainMs: number): Promise<void> {
  binding.isDraining = true;
  await Bun.sleep(drainMs);
  void binding.server.stop();
}

/** Scheme, host and port. */
export function urlOf(config: Config, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls === null ? 'http' : 'https'}://${host}:${port}`;
}

/** Binds a port, or any free one for 0, that nobody else has, and lets it go; returns it. Throws as {@link startListening}. */
export function probePort(config: Config, port: number, tls: Tls): number {
  const { server } = bind(config, port, tls, false, () => new Response());
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

function bind({ host }: Config, port: number, tls: Tls, reusePort: boolean, fetch: Fetch): Binding {
  const state = { isDraining: false };
  const send = (response: Response) => {
    if (state.isDraining) response.headers.set('Connection', 'close');
    return response;
  };
  try {
    const server = Bun.serve({
      hostname: host,
      port,
      reusePort,
      ...(tls && { tls }),
      development: false,
      idleTimeout: IDLE_SECONDS,
      maxRequestBodySize: MAX_BODY_BYTES,
      fetch: (request, server) => {
        const response = fetch(request, server.requestIP(request)?.address ?? '');
        return response instanceof Promise ? response.then(send) : send(response);
      },
      // What nothing else has caught; a maker of its own, since it knows of no request whose id it could repeat.
      error: (error) => send(prepareRefusals(tls !== null)(error, null).response),
    });
    return Object.assign(state, { server });
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
