import { readFileSync } from 'node:fs';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import type { Serving } from '../http/serving.ts';
import { routable } from '../http/transport.ts';
import { refuseUncaught } from './uncaught.ts';

/** An application that answers requests. */
export type Application = { fetch: (request: Request) => Response | Promise<Response> };

/** How long in-flight requests may take to finish once their listener accepts no more connections. */
export const STOP_MS = 10_000;

/**
 * How long a listener drains before it accepts no more connections: it answers everything, with `Connection: close`. Bun's
 * stop() closes idle connections, and loses a request that is just arriving on one of them. A client that sends a request
 * during the drain has no idle connection left.
 */
export const DRAIN_MS = 1_000;

/** How much longer a listener drains over TLS: Bun's stop() also closes connections in the middle of their handshake. */
export const HANDSHAKE_MS = 500;

const STEP_MS = 10;

/** How long a connection may be idle, even in the middle of a request body, before it is closed. */
export const IDLE_SECONDS = 10;

/**
 * Bun itself answers longer bodies with an empty 413. Forms and JSON over 64 KiB (request-body.ts) and profiles over 64 MiB
 * (feed/feed.ts) are refused with a sentence. An unread body takes no memory.
 */
const MAX_REQUEST_BYTES = 1024 * 1024 * 1024;

/** A certificate and its private key, both PEM; null for plain HTTP. */
export type Tls = { cert: string; key: string } | null;

/** A listening socket with one certificate. While it drains, its responses have `Connection: close`. */
type Binding = { server: Bun.Server<undefined>; isTls: boolean; isDraining: boolean };

/** The sockets of a server, or of one of its workers. */
export type Listener = {
  /** Scheme, host and real port, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly service: Serving;
  readonly app: Application;
  readonly drainMs: number;
  /** The binding that new connections reach. */
  current: Binding;
  /** The bindings of earlier certificates, until their in-flight requests have ended. */
  readonly former: Set<Binding>;
};

/** `shared` holds the certificate if several threads listen on the port; `drainMs` replaces {@link DRAIN_MS}. */
export type ListenerOptions = { shared?: { tls: Tls }; drainMs?: number | undefined };

/**
 * Binds a port (0: any free one) and starts to answer. With `shared`, other threads may listen on the port too. Throws
 * `refused` if the port is in use or the host is not this machine's, `bad_config` for a bad certificate.
 */
export function startListening(
  service: Serving,
  app: Application,
  port: number,
  { shared, drainMs = DRAIN_MS }: ListenerOptions = {},
): Listener {
  const { config } = service.deps;
  const tls = shared === undefined ? readTls(config) : shared.tls;
  // While the certificate changes, two bindings share the port. It is first bound once without sharing, so that a second
  // server on the same port is refused.
  if (shared === undefined && tls !== null) probePort(config, port, null);
  const current = bindFor(service, app, port, tls, shared !== undefined || tls !== null);
  const boundPort = current.server.port as number;
  return { url: urlOf(config, boundPort), port: boundPort, service, app, drainMs, current, former: new Set() };
}

/**
 * Listens with the certificate `agreed`, by default that in the certificate's files, and drains the binding of the old one.
 * Resolves when the old binding accepts no more connections. Does nothing over plain HTTP, or if the listener is stopped. If
 * it throws `bad_config`, the old certificate stays in use.
 */
export async function reloadListener(listener: Listener, agreed?: Tls): Promise<void> {
  const { service, port, app, drainMs, current: old, former } = listener;
  const { config } = service.deps;
  if (!old.isTls || old.isDraining) return;
  listener.current = bindFor(service, app, port, agreed ?? readTls(config), true);
  former.add(old);
  await drain(old, drainMs);
  // The connection accepted last may send its first request only now.
  setTimeout(() => {
    former.delete(old);
    void old.server.stop(true);
  }, STOP_MS).unref();
}

/**
 * Drains (over TLS for {@link HANDSHAKE_MS} longer), accepts no more connections, and waits up to {@link STOP_MS} for
 * in-flight requests.
 */
export async function stopListening({ current, former, drainMs }: Listener): Promise<void> {
  await drain(current, current.isTls ? drainMs + HANDSHAKE_MS : drainMs);
  const servers = [current, ...former].map(({ server }) => server);
  // The promises of stop() would also wait for connections that have not sent a request yet.
  for (let waited = 0; waited < STOP_MS && servers.some((one) => one.pendingRequests > 0); waited += STEP_MS) {
    await Bun.sleep(STEP_MS);
  }
  await Promise.all(servers.map((one) => one.stop(true)));
}

/** Closes each connection with its next response for `drainMs`, then accepts no more. In-flight requests continue. */
async function drain(binding: Binding, drainMs: number): Promise<void> {
  binding.isDraining = true;
  await Bun.sleep(drainMs);
  void binding.server.stop();
}

/** The URL of a port of this server, without a trailing slash. */
export function urlOf(config: Config, port: number): string {
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return `${config.tls === null ? 'http' : 'https'}://${host}:${port}`;
}

/** Binds a port (0: any free one) without sharing, releases it, and returns its number. Throws as {@link startListening}. */
export function probePort(config: Config, port: number, tls: Tls): number {
  const { server } = bind(config, port, tls, false, { fetch: () => new Response() });
  const bound = server.port as number;
  void server.stop(true);
  return bound;
}

/** Reads the files of the certificate and key; null if none are configured. Throws `bad_config`. */
export function readTls({ tls }: Config): Tls {
  if (tls === null) return null;
  try {
    return { cert: readFileSync(tls.certFile, 'utf8'), key: readFileSync(tls.keyFile, 'utf8') };
  } catch (cause) {
    const sentence = `TLS_CERT_FILE (${tls.certFile}) or TLS_KEY_FILE (${tls.keyFile}) can't be read.`;
    throw new AppError('bad_config', sentence, { cause });
  }
}

/** Binds a port for a service. The latest server knows the remote address of every request, whichever binding it is on. */
function bindFor(service: Serving, app: Application, port: number, tls: Tls, reusePort: boolean): Binding {
  const binding = bind(service.deps.config, port, tls, reusePort, {
    fetch: (request) => app.fetch(routable(request)),
    error: (error) => refuseUncaught(service, error),
  });
  service.connections.server = binding.server;
  return binding;
}

function bind(
  { host }: Config,
  port: number,
  tls: Tls,
  reusePort: boolean,
  { fetch, error }: Application & { error?: (error: unknown) => Response },
): Binding {
  const state = { isTls: tls !== null, isDraining: false };
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
      maxRequestBodySize: MAX_REQUEST_BYTES,
      fetch: (request) => {
        const response = fetch(request);
        return response instanceof Promise ? response.then(send) : send(response);
      },
      ...(error && { error: (fault) => send(error(fault)) }),
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
      'TLS_CERT_FILE and TLS_KEY_FILE must contain a PEM certificate and the private key that belongs to it.';
    return new AppError('bad_config', sentence, { cause });
  }
  return new AppError('refused', `The server can't listen on port ${port} of ${host}; set HOST and PORT.`, { cause });
}
