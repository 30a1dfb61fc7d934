import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { bareHost, isLoopback } from '../net.ts';

// The variables for where the server listens and how it is reached.

/** Certificate and key, both files that exist. */
export type TlsFiles = { certFile: string; keyFile: string };

/**
 * A sentence if API keys would travel over plain HTTP to this address: other machines reach it, and nothing protects
 * the connection.
 */
export function exposureFault(at: {
  host: string;
  tls: TlsFiles | null;
  trustedProxies: BlockList | null;
}): string | null {
  if (at.tls !== null || at.trustedProxies !== null || isLoopback(at.host)) return null;
  return `HOST ${at.host} can be reached from other machines, and API keys may not travel over plain HTTP: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES where a proxy in front speaks HTTPS, or HOST=127.0.0.1.`;
}

/** Whether a text is an IP address, without a zone, or `localhost`. */
export function isHost(text: string): boolean {
  return text === 'localhost' || (isIP(text) !== 0 && !text.includes('%'));
}

/** The origin and prefix of a public URL, without a final `/api`; null if the text is not one, or contains more. */
export function parsePublicUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (url.search || url.hash || url.username || url.password) return null;
  return url.origin + url.pathname.replace(/(?:\/api)?\/*$/, '').replace(/\/+$/, '');
}

/** The values that `ADMIN_WEBHOOK_URL` may have, for error messages. */
export const WEBHOOK_SYNTAX = 'an https address, or an http address of this machine';

/** The normalised URL of a webhook, or null. */
export function parseWebhook(text: string): string | null {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(bareHost(url.hostname)));
  return url !== null && isSafe ? url.href : null;
}

/** Parses a comma-separated list of addresses and CIDR blocks; null if an item is neither. */
export function parseProxies(text: string): BlockList | null {
  const list = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [address = '', bits, ...more] = block.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const length = bits === undefined ? most : Number(bits);
    if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || length > most) return null;
    list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** The characters of a token, for refusals. */
export const TOKEN_CHARACTERS = 'letters, digits and - . _ ~ + /';

/** Whether a text can be sent as a bearer token (RFC 6750, section 2.1). */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** The refusal of a variable's value, as one sentence that begins with its name. */
export function badVariable(name: string, rule: string): AppError {
  return new AppError('bad_config', `${name} ${rule}.`);
}
