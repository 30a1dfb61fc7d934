import { statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { bareHost, isLoopback } from '../net.ts';
import { cleanForTerminal, codePoints } from '../text.ts';

// Checks the texts of single variables. A function that parses returns null for an invalid text.

/** The paths of certificate and key. */
export type TlsFiles = { certFile: string; keyFile: string };

/** The error for an invalid variable: its name, followed by its rule. */
export function variableError(name: string, rule: string): AppError {
  return new AppError('bad_config', `${name} ${rule}.`);
}

/**
 * Returns the path unchanged. Throws `bad_config`, naming the variable or flag, if it is a folder or can't be a file: SQLite
 * would open a temporary database for an empty path or `:memory:`.
 */
export function checkDatabasePath(name: 'DATABASE_PATH' | '--db', text: string): string {
  if (text.trim() === '' || text.startsWith(':') || text.includes('\0')) throw variableError(name, 'must name a file');
  if (isFolder(text)) throw variableError(name, `must name a file, and ${text} is a folder`);
  return text;
}

/** Also false below an inaccessible folder; opening the file reports that. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

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

/** Returns the origin and prefix of a public URL, without a final `/api`. */
export function parsePublicUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (url.search || url.hash || url.username || url.password) return null;
  return url.origin + url.pathname.replace(/(?:\/api)?\/*$/, '').replace(/\/+$/, '');
}

/** The syntax of `ADMIN_WEBHOOK_URL`, for error messages. */
export const WEBHOOK_SYNTAX = 'an https URL, or an http URL on this machine';

/** Normalises the URL of a webhook. */
export function parseWebhook(text: string): string | null {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(bareHost(url.hostname)));
  return url !== null && isSafe ? url.href : null;
}

/** Parses a comma-separated list of IP addresses and CIDR blocks. */
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

/** An e-mail address, or the normalised URL of a page. */
export function parseContact(text: string): string | null {
  if (isMailAddress(text)) return text;
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}

/** Parses comma-separated plain e-mail addresses and removes duplicates. */
export function parseAddresses(text: string): string[] | null {
  const addresses = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  return addresses.every(isMailAddress) ? [...new Set(addresses)] : null;
}

/** Parses `DEFAULT_RATE_LIMITS`. */
export function parseLimits(text: string): RateLimit[] | null {
  try {
    return parseRateLimits([text]);
  } catch {
    return null;
  }
}

/** Whether a name is visible, fits on one line of a page or mail, and can't change the direction of the text around it. */
export function isPublicName(text: string): boolean {
  return (
    codePoints(text) <= 40 &&
    text.trim() === text &&
    !/[\u2028\u2029]/.test(text) &&
    cleanForTerminal(text) === text &&
    VISIBLE.test(text)
  );
}

/** Unicode classifies the Braille blank as a symbol, but it is invisible. */
const VISIBLE = /[^\p{Default_Ignorable_Code_Point}\p{Cf}\p{Z}\u2800]/u;
