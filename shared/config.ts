import { readFileSync, statSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { parseEnv } from 'node:util';
import { AppError } from './errors.ts';
import { parseRateLimits, RATE_LIMIT_SYNTAX, type RateLimit } from './keys/rate-limit.ts';
import { isMailAddress } from './mail/address.ts';
import { MAIL_URL_SYNTAX, type MailTarget, parseMailUrl } from './mail/target.ts';

/** What the environment says, checked. Built once per process by {@link readConfig}; passed down from there. */
export type Config = {
  databasePath: string;
  host: string;
  port: number;
  /** Origin and optional prefix, without a trailing slash and without `/api`. */
  publicUrl: string;
  tls: { certFile: string; keyFile: string } | null;
  /** Null when `TRUSTED_PROXIES` is not set. */
  trustedProxies: BlockList | null;
  mail: MailTarget | null;
  mailFrom: string | null;
  adminEmail: string | null;
  securityContact: string | null;
  defaultRateLimits: RateLimit[];
  workers: number;
  logLevel: LogLevel;
  metricsToken: string | null;
  /** Who called sudo, where someone did. */
  sudoUser: string | null;
};

/** From chatty to quiet; requests are logged at `info`. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Every variable with its default as a person would write it; the README's table is compared with this. */
export const VARIABLES = {
  DATABASE_PATH: 'data/profiles.db',
  HOST: '127.0.0.1',
  PORT: '3000',
  PUBLIC_URL: '',
  TLS_CERT_FILE: '',
  TLS_KEY_FILE: '',
  TRUSTED_PROXIES: '',
  MAIL_URL: '',
  MAIL_URL_FILE: '',
  MAIL_FROM: '',
  ADMIN_EMAIL: '',
  SECURITY_CONTACT: '',
  DEFAULT_RATE_LIMITS: '60/1m,5000/1d',
  WORKERS: '1',
  LOG_LEVEL: 'info',
  METRICS_TOKEN: '',
  METRICS_TOKEN_FILE: '',
} as const;

type Variable = keyof typeof VARIABLES;
type Source = Record<string, string | undefined>;

/**
 * The process's environment, completed by a file where one is given; the environment wins, as with Node's `--env-file`.
 * Throws `bad_config` when the file can't be read.
 */
export function readEnvironment(envFile: string | undefined): Source {
  const environment: Source = { ...process.env };
  if (envFile === undefined) return environment;
  return { ...parseEnv(readTextFile('--env-file', envFile)), ...environment };
}

/** Checks every variable. Throws `bad_config` with the first bad one's name and what is allowed. */
export function readConfig(source: Source): Config {
  const read = (name: Variable): string => source[name] || VARIABLES[name];
  const optional = (name: Variable): string | null => read(name) || null;

  const host = checkHost(read('HOST'));
  const port = wholeNumber('PORT', read('PORT'), 0, 65_535);
  const tls = checkTls(optional('TLS_CERT_FILE'), optional('TLS_KEY_FILE'));
  const mail = checkMail(secretOf(source, 'MAIL_URL'));
  const mailFrom = checkAddress('MAIL_FROM', optional('MAIL_FROM'));
  if (mailFrom === null && mail?.kind === 'server') {
    throw bad('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  }
  return {
    databasePath: read('DATABASE_PATH'),
    host,
    port,
    publicUrl: checkPublicUrl(optional('PUBLIC_URL'), host, port, tls !== null),
    tls,
    trustedProxies: checkProxies(optional('TRUSTED_PROXIES')),
    mail,
    mailFrom,
    adminEmail: checkAddress('ADMIN_EMAIL', optional('ADMIN_EMAIL')),
    securityContact: checkContact(optional('SECURITY_CONTACT')),
    defaultRateLimits: checkRateLimits(read('DEFAULT_RATE_LIMITS')),
    workers: wholeNumber('WORKERS', read('WORKERS'), 1, 64),
    logLevel: oneOf('LOG_LEVEL', read('LOG_LEVEL'), LOG_LEVELS),
    metricsToken: secretOf(source, 'METRICS_TOKEN'),
    sudoUser: source.SUDO_USER || null,
  };
}

/** Whether only this machine can reach an address: 127.0.0.0/8, ::1 or `localhost`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

function bad(name: string, rule: string): AppError {
  return new AppError('bad_config', `${name} ${rule}.`);
}

function readTextFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new AppError('bad_config', `${name} names a file that can't be read: ${path}.`, { cause });
  }
}

function wholeNumber(name: Variable, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < least || value > most) {
    throw bad(name, `must be a whole number from ${least} to ${most}`);
  }
  return value;
}

function oneOf<T extends string>(name: Variable, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw bad(name, `must be one of ${allowed.join(', ')}`);
  return found;
}

function checkHost(text: string): string {
  if (text !== 'localhost' && isIP(text) === 0) throw bad('HOST', 'must be an IP address or localhost');
  return text;
}

function checkTls(certFile: string | null, keyFile: string | null): Config['tls'] {
  if (certFile === null && keyFile === null) return null;
  if (certFile === null) throw bad('TLS_CERT_FILE', 'must be set where TLS_KEY_FILE is');
  if (keyFile === null) throw bad('TLS_KEY_FILE', 'must be set where TLS_CERT_FILE is');
  for (const [name, path] of [
    ['TLS_CERT_FILE', certFile],
    ['TLS_KEY_FILE', keyFile],
  ] as const) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) {
      throw bad(name, `names a file that does not exist: ${path}`);
    }
  }
  return { certFile, keyFile };
}

function checkPublicUrl(text: string | null, host: string, port: number, secure: boolean): string {
  if (text === null) {
    if (!isLoopback(host)) throw bad('PUBLIC_URL', 'must be set where HOST is not a loopback address');
    return `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }
  const url = URL.parse(text);
  const plain = url !== null && !url.search && !url.hash && !url.username && !url.password;
  const prefix = url?.pathname.replace(/\/+$/, '') ?? '';
  if (!plain || !/^https?:$/.test(url.protocol) || prefix.endsWith('/api')) {
    throw bad('PUBLIC_URL', 'must be an http or https address without query, fragment or the final /api');
  }
  return url.origin + prefix;
}

function checkProxies(text: string | null): BlockList | null {
  if (text === null) return null;
  const rule = 'must be a comma-separated list of addresses or CIDR blocks, for example 127.0.0.1,10.0.0.0/8';
  const list = new BlockList();
  for (const block of text.split(',').map((part) => part.trim())) {
    const [address = '', bits, ...more] = block.split('/');
    const version = isIP(address);
    const most = version === 4 ? 32 : 128;
    const length = bits === undefined ? most : Number(bits);
    if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(bits ?? '0') || length > most) {
      throw bad('TRUSTED_PROXIES', rule);
    }
    list.addSubnet(address, length, version === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** A secret from `NAME`, or from the file that `NAME_FILE` names (without its last line end); not from both. */
function secretOf(source: Source, name: 'MAIL_URL' | 'METRICS_TOKEN'): string | null {
  const path = source[`${name}_FILE`] || null;
  const value = source[name] || null;
  if (path === null) return value;
  if (value !== null) throw bad(`${name}_FILE`, `and ${name} may not both be set`);
  const text = readTextFile(`${name}_FILE`, path).replace(/\r?\n$/, '');
  if (text === '') throw bad(`${name}_FILE`, `names an empty file: ${path}`);
  return text;
}

function checkMail(text: string | null): MailTarget | null {
  if (text === null) return null;
  const target = parseMailUrl(text);
  if (target === null) throw bad('MAIL_URL', `must be ${MAIL_URL_SYNTAX}`);
  return target;
}

function checkAddress(name: Variable, text: string | null): string | null {
  if (text !== null && !isMailAddress(text)) throw bad(name, 'must be one plain e-mail address');
  return text;
}

function checkContact(text: string | null): string | null {
  if (text === null) return null;
  if (isMailAddress(text)) return `mailto:${text}`;
  const url = URL.parse(text);
  if (url === null || !/^(https|mailto|tel):$/.test(url.protocol)) {
    throw bad('SECURITY_CONTACT', 'must be an e-mail address or a https, mailto or tel address');
  }
  return url.href;
}

function checkRateLimits(text: string): RateLimit[] {
  try {
    return parseRateLimits(text.split(',').map((part) => part.trim()));
  } catch {
    throw bad(
      'DEFAULT_RATE_LIMITS',
      `must be one to four of ${RATE_LIMIT_SYNTAX}; separated by commas, windows distinct`,
    );
  }
}
