import { readFileSync } from 'node:fs';
import type { BlockList } from 'node:net';
import { parseEnv } from 'node:util';
import { badVariable, checkHost, checkProxies, checkPublicUrl, checkTls, type TlsFiles } from './config-network.ts';
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
  tls: TlsFiles | null;
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
    throw badVariable('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
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
    throw badVariable(name, `must be a whole number from ${least} to ${most}`);
  }
  return value;
}

function oneOf<T extends string>(name: Variable, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw badVariable(name, `must be one of ${allowed.join(', ')}`);
  return found;
}

/** A secret from `NAME`, or from the file that `NAME_FILE` names (without its last line end); not from both. */
function secretOf(source: Source, name: 'MAIL_URL' | 'METRICS_TOKEN'): string | null {
  const path = source[`${name}_FILE`] || null;
  const value = source[name] || null;
  if (path === null) return value;
  if (value !== null) throw badVariable(`${name}_FILE`, `and ${name} may not both be set`);
  const text = readTextFile(`${name}_FILE`, path).replace(/\r?\n$/, '');
  if (text === '') throw badVariable(`${name}_FILE`, `names an empty file: ${path}`);
  return text;
}

function checkMail(text: string | null): MailTarget | null {
  if (text === null) return null;
  const target = parseMailUrl(text);
  if (target === null) throw badVariable('MAIL_URL', `must be ${MAIL_URL_SYNTAX}`);
  return target;
}

function checkAddress(name: Variable, text: string | null): string | null {
  if (text !== null && !isMailAddress(text)) throw badVariable(name, 'must be one plain e-mail address');
  return text;
}

function checkContact(text: string | null): string | null {
  if (text === null) return null;
  if (isMailAddress(text)) return `mailto:${text}`;
  const url = URL.parse(text);
  if (url === null || !/^(https|mailto|tel):$/.test(url.protocol)) {
    throw badVariable('SECURITY_CONTACT', 'must be an e-mail address or a https, mailto or tel address');
  }
  return url.href;
}

function checkRateLimits(text: string): RateLimit[] {
  try {
    return parseRateLimits(text.split(',').map((part) => part.trim()));
  } catch {
    throw badVariable(
      'DEFAULT_RATE_LIMITS',
      `must be one to four of ${RATE_LIMIT_SYNTAX}; separated by commas, windows distinct`,
    );
  }
}
