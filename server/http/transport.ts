import { type BlockList, isIPv4, isIPv6 } from 'node:net';
import type { Config } from '../../shared/config/config.ts';
import { exposureFault } from '../../shared/config/values.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback, networkOf } from '../../shared/net.ts';

/** The sentence of `uri_too_long` names this number. */
const MAX_PATH_LENGTH = 8_192;

/** How requests may reach this server. */
export type Transport = {
  /** Null if there are no trusted proxies. */
  isProxy: IsProxy | null;
  /**
   * Whether the server speaks plain HTTP on an address that other machines reach. It then accepts requests only from trusted
   * proxies that received them over HTTPS.
   */
  isExposed: boolean;
  /** Whether an unreadable entry of X-Forwarded-For was logged. */
  hasUnreadable: boolean;
};

/** Derives the rules from the configuration. Throws `bad_config` if secrets would be sent unencrypted. */
export function readTransport(config: Config): Transport {
  const fault = exposureFault(config);
  if (fault !== null) throw new AppError('bad_config', fault);
  const { trustedProxies, tls, host } = config;
  return {
    isProxy: trustedProxies === null ? null : proxyCheck(trustedProxies),
    isExposed: tls === null && !isLoopback(host),
    hasUnreadable: false,
  };
}

/** Throws `bad_request` if the connection was reset, `plain_http` and `uri_too_long`. */
export function checkTransport(transport: Transport, { headers }: Request, path: string, peer: string | null): void {
  if (peer === null) throw RESET;
  refusePlainHttp(transport, peer, headers);
  if (path.length > MAX_PATH_LENGTH) throw new AppError('uri_too_long');
}

// Nobody gets this answer. But such a request, whose address is unknown, would not count towards the limits of its address.
const RESET = new AppError('bad_request', 'The connection was reset.');

/** Throws `plain_http` if the client, or a proxy on the way, sent a request over plain HTTP although that is forbidden. */
export function refusePlainHttp(transport: Transport, peer: string, headers: Headers): void {
  if (transport.isProxy === null) return;
  if (!transport.isProxy(normaliseAddress(peer))) {
    if (transport.isExposed) throw plainHttp();
    return;
  }
  const proto = headers.get('x-forwarded-proto');
  if (proto === null) {
    // A proxy that sends the client's address but not the protocol may have received the request over plain HTTP. A proxy
    // that sends neither header is itself the client, as in a health check.
    if (transport.isExposed && headers.has('x-forwarded-for')) throw plainHttp();
    return;
  }
  // Each proxy on the way may have added the protocol of its request; all of them have to be HTTPS.
  if (proto.split(',').some((value) => value.trim().toLowerCase() !== 'https')) throw plainHttp();
}

function plainHttp(): AppError {
  return new AppError('plain_http');
}

/**
 * Normalises an IP address for comparison and logs: without a zone, in lower case, and IPv4-mapped IPv6 addresses
 * (`::ffff:192.0.2.1`, `::ffff:c000:201`) as IPv4.
 */
export function normaliseAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = address.split('%', 1)[0] as string;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(bare) ?? [];
  if (high === undefined || low === undefined) return bare.toLowerCase();
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.');
}

/** Whether a normalised IP address is a trusted proxy. */
type IsProxy = (address: string) => boolean;

/** Creates the check for a list of proxies. It caches its last result: nearly all requests come through the same proxy. */
export function proxyCheck(proxies: BlockList): IsProxy {
  let last = '';
  let isProxy = false;
  return (address) => {
    if (address !== last) {
      isProxy = isIPv4(address) ? proxies.check(address, 'ipv4') : isIPv6(address) && proxies.check(address, 'ipv6');
      last = address;
    }
    return isProxy;
  };
}

/**
 * The client's IP address: the peer's or, if that is a trusted proxy, the last entry of `X-Forwarded-For` that is not one. The
 * search from right to left ends at an entry that is not an IP address; the address to the right of it is used, and
 * `onUnreadable` is called.
 */
export function clientAddress(
  isProxy: IsProxy | null,
  peer: string,
  forwardedFor: string | null,
  onUnreadable = () => {},
): string {
  let address = normaliseAddress(peer);
  if (forwardedFor === null || isProxy === null) return address;
  const entries = forwardedFor.split(',');
  while (entries.length > 0 && isProxy(address)) {
    const entry = withoutPort((entries.pop() as string).trim());
    if (!isIPv4(entry) && !isIPv6(entry)) {
      onUnreadable();
      return address;
    }
    address = normaliseAddress(entry);
  }
  return address;
}

/** An entry without brackets and port: some proxies write `203.0.113.7:4711`, `[2001:db8::1]` or `[2001:db8::1]:443`. */
function withoutPort(entry: string): string {
  return /^\[(.+)\](?::\d{1,5})?$/.exec(entry)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(entry)?.[1] ?? entry;
}

/** The block of IP addresses whose requests are counted together: one IPv4 address, or the IPv6 /64 of a subscriber. */
export function blockOf(address: string): string {
  return networkOf(address, 64);
}

// Elysia 1.4.30 searches for the path from a fixed index of the URL (elysia #748). Bun builds the URL from Host and target,
// also for absolute-form targets, with a WHATWG parser: dot segments are resolved, even percent-encoded ones; a backslash
// becomes a slash; raw bytes are percent-encoded, those that are not UTF-8 as U+FFFD. A `#` stays in the path or the query,
// where no route and no parameter matches it. If Host does not fit into a URL, Bun leaves the target as sent.

/** One host, with or without a port. Bun joins several Host headers with commas, which no host contains. */
const HOST = /^(?:[^\s,:]+|\[[^\s,\]]+\])(?::([0-9]*))?$/;

const MAX_PORT = 65_535;

/** Where Elysia starts searching for the path over TLS (see `standardHostname`): a host of one or two characters ends before it. */
const HTTPS_PATH_FROM = 11;

/** The Host of the latest request: nearly all requests have the same one. */
const latest = { host: '', isValid: false };

/**
 * Whether Elysia finds a request's path: Host and target form a URL, Host is valid and not repeated (RFC 9112, section 3.2), and
 * over TLS it has three characters or more.
 */
export function isRoutable({ url, headers }: Request): boolean {
  if (!url.startsWith('http')) return false;
  if (url.startsWith('https://') && url.indexOf('/', 8) < HTTPS_PATH_FROM) return false;
  const host = headers.get('host');
  if (host === null) return true;
  if (host !== latest.host) Object.assign(latest, { host, isValid: isValidHost(host) });
  return latest.isValid;
}

function isValidHost(host: string): boolean {
  const port = HOST.exec(host);
  return port !== null && Number(port[1] ?? 0) <= MAX_PORT;
}
