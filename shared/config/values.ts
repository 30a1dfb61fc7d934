import { statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError } from '../errors.ts';
import { parseRateLimits, type RateLimit } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { bareHost, isLoopback } from '../net.ts';
import { cleanForTerminal, codePoints, VISIBLE } from '../text.ts';
import { readSmallBytes } from './files.ts';

// Checks the texts of single variables. A function that parses returns null for an invalid text; one that finds a fault
// returns the rule that follows the variable's name.

/**
 * The rule that the path of a database breaks: SQLite would open a temporary database for an empty path or `:memory:`, and a
 * restore as root would replace /dev/null. What is below an inaccessible folder is reported when it is opened.
 */
export function databasePathFault(path: string): string | null {
  if (path.trim() === '' || path.startsWith(':') || path.includes('\0')) return 'must name a file';
  const kind = kindOf(path);
  return kind === null || kind === 'file' ? null : `must name a file, and ${path} is a ${kind}`;
}

/** The rule that the path of a certificate or key breaks. */
export function missingFault(path: string): string | null {
  return kindOf(path) === 'file' ? null : `does not name an existing file: ${path}`;
}

/** What a path leads to; null if that is nothing, or below an inaccessible folder. */
function kindOf(path: string): 'file' | 'folder' | 'device or pipe' | null {
  try {
    const stat = statSync(path);
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'device or pipe';
  } catch {
    return null;
  }
}

/** Returns the value of `--db` unchanged. Throws `bad_config` if it can't be a database. */
export function checkDatabasePath(path: string): string {
  const fault = databasePathFault(path);
  if (fault !== null) throw new AppError('bad_config', `--db ${fault}.`);
  return path;
}

/** Returns an error message if other machines could send API keys over plain HTTP, otherwise null. */
export function exposureFault(at: {
  host: string;
  tls: object | null;
  trustedProxies: BlockList | null;
}): string | null {
  if (at.tls !== null || at.trustedProxies !== null || isLoopback(at.host)) return null;
  return `HOST ${at.host} can be reached from other machines, and API keys may not be sent over plain HTTP: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUSTED_PROXIES if a proxy provides HTTPS, or HOST=127.0.0.1.`;
}

/** Returns the origin and prefix of a public URL, without a final `/api`. */
export function parsePublicUrl(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  if (url.search || url.hash || url.username || url.password) return null;
  return url.origin + url.pathname.replace(/(?:\/api)?\/*$/, '').replace(/\/+$/, '');
}

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

/** Every page embeds the logo, as a picture and as its icon. */
const MAX_KIB = 32;

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Reads a square SVG or PNG as a `data:` URL. Throws `bad_config`, naming the variable and the reason, if the file can't be read,
 * is larger than 32 KiB, or is nothing that a browser would show as a square picture.
 */
export function readLogo(name: string, path: string): string {
  const refused = (rule: string) => new AppError('bad_config', `${name} ${rule}.`);
  const bytes = Buffer.from(readSmallBytes({ name, path, maxKib: MAX_KIB, code: 'bad_config' }));
  const isPng = bytes.subarray(0, PNG.length).equals(PNG);
  const picture = isPng ? readPng(bytes) : readSvg(bytes.toString());
  if (typeof picture === 'string') throw refused(`must name an SVG or PNG file: ${path} ${picture}`);
  const { type, width, height } = picture;
  if (!(width > 0 && height > 0)) throw refused(`must name a picture with a size: ${path} has none`);
  if (width !== height) throw refused(`must name a square picture; it is ${width} × ${height}: ${path}`);
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** A picture and its size, or why it is none. */
type Picture = { type: string; width: number; height: number } | string;

/** The size of a PNG, from its first chunk (W3C PNG, section 11.2.1). It must have pixels, and its end. */
function readPng(bytes: Buffer): Picture {
  const [head, pixels, end] = ['IHDR', 'IDAT', 'IEND'].map((chunk) => bytes.lastIndexOf(chunk)) as [
    number,
    number,
    number,
  ];
  if (head < 0 || pixels < head || end < pixels) return 'is an incomplete PNG';
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** What may stand before the root of an SVG: a byte order mark, the XML declaration, comments and a document type. */
const PROLOGUE = /^\uFEFF?(?:\s+|<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?\s*>)*/i;

/** The size of an SVG: its `viewBox`, or its width and height. Browsers do not display an SVG without the namespace. */
function readSvg(text: string): Picture {
  const root = /^<svg\b[^>]*>/.exec(text.replace(PROLOGUE, ''))?.[0];
  if (root === undefined) return 'is neither: it begins with no <svg>';
  if (!/\sxmlns=["']http:\/\/www\.w3\.org\/2000\/svg["']/.test(root)) {
    return 'lacks xmlns="http://www.w3.org/2000/svg", without which browsers do not show it';
  }
  const box = /\sviewBox=["']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)\s*["']/.exec(root);
  const [width, height] =
    box === null
      ? ['width', 'height'].map((side) => new RegExp(`\\s${side}=["']([\\d.]+)`).exec(root)?.[1])
      : box.slice(1);
  if (width === undefined || height === undefined) return 'has neither a viewBox nor width and height';
  return { type: 'image/svg+xml', width: Number(width), height: Number(height) };
}
