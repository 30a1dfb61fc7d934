import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';

// Requests from commands to the server on this machine.

const TIMEOUT_MS = 5_000;

/** The server's response. */
type ServerAnswer = { status: number; body: string };

/** The server's URL for commands on this machine: loopback if it listens on all addresses. Throws `usage`. */
export function serverUrl({ host, port, tls }: Config, path: string): URL {
  if (port === 0) throw new AppError('usage', 'PORT is 0, so the port of the server is unknown; set PORT.');
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const written = reachable.includes(':') ? `[${reachable}]` : reachable;
  return new URL(`${tls === null ? 'http' : 'https'}://${written}:${port}${path}`);
}

/** Sends a GET request to the server on this machine. Throws `refused` if there is no response. */
export async function askServer(url: URL, token: string | null = null): Promise<ServerAnswer> {
  const options = {
    // Not by a proxy that the environment names: the request does not leave this machine.
    proxy: false as never,
    // The certificate is for the public host, not for this address.
    tls: { rejectUnauthorized: false },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(token !== null && { headers: { Authorization: `Bearer ${token}` } }),
  } as const;
  try {
    const answer = await fetch(url, options);
    return { status: answer.status, body: await answer.text() };
  } catch (cause) {
    throw new AppError('refused', `No server is responding at ${url.origin}.`, { cause });
  }
}
