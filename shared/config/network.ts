import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { bareHost, isLoopback } from '../net.ts';

// The variables about the server's address and connections.

/** The paths of certificate and key. */
export type TlsFiles = { certFile: string; keyFile: string };

/** Returns an error message if other machines could send API keys over plain HTTP, otherwise null. */
export function exposureFault(at: {
  host: string;
  tls: TlsFiles | null;
  trustedProxies: BlockList | null;
}): string | null {
  if (at.tls !== null || at.trustedProxies !== null || isLoopback(at.host)) return null;
  return `HOST ${at.host} can be reached from other machines, and API keys may not be sent over plain HTTP: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES if a proxy provides HTTPS, or HOST=127.0.0.1.`;
}

/** Whether a string is an IP address, without a zone, or `localhost`. */
export function isHost(text: string): boolean {
  return text === 'localhost' || (isIP(text) !== 0 && !text.includes('%'));
}

/** Returns the origin and prefix of a public URL, without a final `/api`; null for any other string. */
export function parsePublicUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (url.search || url.hash || url.username || url.password) return null;
  return url.origin + url.pathname.replace(/(?:\/api)?\/*$/, '').replace(/\/+$/, '');
}

/** The syntax of `ADMIN_WEBHOOK_URL`, for error messages. */
export const WEBHOOK_SYNTAX = 'an https URL, or an http URL on this machine';

/** The normalised URL of a webhook, or null. */
export function parseWebhook(text: string): string | null {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(bareHost(url.hostname)));
  return url !== null && isSafe ? url.href : null;
}

/** Parses a comma-separated list of IP addresses and CIDR blocks; null if an item is neither. */
export function parseProxies(text: string): BlockList | null {
  const list = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [address = '', bits, ...more] = block.split('/');
    const version = isIP(address);
    const maxBits = version === 4 ? 32 : 128;
    const length = bits === undefined ? maxBits : Number(bits);
    if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || length > maxBits) return null;
    list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** The characters of a token, for error messages. */
export const TOKEN_CHARACTERS = 'letters, digits and - . _ ~ + /';

/** Whether a string can be sent as a bearer token (RFC 6750, section 2.1). */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** The error for an invalid variable: its name, followed by its rule. */
export function variableError(name: string, rule: string): AppError {
  return new AppError('bad_config', `${name} ${rule}.`);
}
