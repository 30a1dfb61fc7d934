import { statSync } from 'node:fs';
import type { BlockList } from 'node:net';
import { AppError } from '../errors.ts';
import { parseRateLimits, RATE_LIMIT_SYNTAX, type RateLimit } from '../limits/rate-limit.ts';
import type { MailTarget } from '../mail/target.ts';
import { isMangled, mangledText, readTextFile } from './environment.ts';
import { checkAddress, checkAddresses, checkAsked, checkContact, checkMail, checkSender } from './mail.ts';
import {
  badVariable,
  checkHost,
  checkProxies,
  checkPublicUrl,
  checkTls,
  checkToken,
  type TlsFiles,
} from './network.ts';
import { type Source, VARIABLES, type Variable } from './variables.ts';

/** What the environment says, checked. Built once per process by {@link readConfig}; passed down from there. */
export type Config = {
  databasePath: string;
  /** Whether `serve` refuses where there is no database, instead of creating one. */
  databaseMustExist: boolean;
  host: string;
  port: number;
  /** Origin and optional prefix, without a trailing slash and without `/api`. */
  publicUrl: string;
  tls: TlsFiles | null;
  /** Null when `TRUSTED_PROXIES` is not set. */
  trustedProxies: BlockList | null;
  mail: MailTarget | null;
  mailFrom: string | null;
  /** Who is told of requests; empty where ADMIN_EMAIL is not set. */
  adminEmails: string[];
  /** Whom owners ask: an e-mail address or a http(s) URL. */
  contact: string | null;
  securityContact: string | null;
  /** Whether there are the pages under /developers, and what is under /manage. */
  developerPlatform: boolean;
  /** The most that lookups may show of a profile that is put in, its links included: bytes of JSON. */
  maxProfileBytes: number;
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

/** Checks every variable. Throws `bad_config` with the first bad one's name and what is allowed. */
export function readConfig(source: Source): Config {
  return parseConfig(source, (check) => check());
}

/**
 * Every fault of the environment at once, each as {@link readConfig} would throw it, in the same order; in `config` a
 * harmless value stands in for each bad one.
 */
export function surveyConfig(source: Source): { config: Config; faults: AppError[] } {
  const faults: AppError[] = [];
  const config = parseConfig(source, (check, fallback) => {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      faults.push(error);
      return fallback;
    }
  });
  return { config, faults };
}

/** Runs one variable's check; where it lets a fault pass, `fallback` stands in for the value. */
type Attempt = <T>(check: () => T, fallback: T) => T;

function parseConfig(given: Source, attempt: Attempt): Config {
  const source = withoutMangled(given, attempt);
  const read = (name: Variable): string => source[name] || VARIABLES[name].default;
  const optional = (name: Variable): string | null => read(name) || null;

  const host = attempt(() => checkHost(read('HOST')), VARIABLES.HOST.default);
  const port = attempt(() => wholeNumber('PORT', read('PORT'), 0, 65_535), Number(VARIABLES.PORT.default));
  const tls = attempt(() => checkTls(optional('TLS_CERT_FILE'), optional('TLS_KEY_FILE')), null);
  const mail = attempt(() => checkMail(...secretOf(source, 'MAIL_URL')), null);
  return {
    databasePath: attempt(
      () => checkDatabasePath('DATABASE_PATH', read('DATABASE_PATH')),
      VARIABLES.DATABASE_PATH.default,
    ),
    databaseMustExist:
      attempt(() => oneOf('DATABASE_MUST_EXIST', read('DATABASE_MUST_EXIST'), ['on', 'off']), 'off') === 'on',
    host,
    port,
    mail,
    mailFrom: attempt(() => checkSender(checkAddress('MAIL_FROM', optional('MAIL_FROM')), mail), null),
    publicUrl: attempt(() => checkPublicUrl(optional('PUBLIC_URL'), host, port, tls !== null), ''),
    tls,
    trustedProxies: attempt(() => checkProxies(optional('TRUSTED_PROXIES')), null),
    adminEmails: attempt(() => checkAddresses('ADMIN_EMAIL', read('ADMIN_EMAIL')), []),
    contact: attempt(() => checkAsked(optional('CONTACT')), null),
    securityContact: attempt(() => checkContact(optional('SECURITY_CONTACT')), null),
    developerPlatform:
      attempt(() => oneOf('DEVELOPER_PLATFORM', read('DEVELOPER_PLATFORM'), ['on', 'off']), 'on') === 'on',
    maxProfileBytes:
      1024 *
      attempt(
        () => wholeNumber('MAX_PROFILE_KIB', read('MAX_PROFILE_KIB'), 1, 256),
        Number(VARIABLES.MAX_PROFILE_KIB.default),
      ),
    defaultRateLimits: attempt(() => checkRateLimits(read('DEFAULT_RATE_LIMITS')), []),
    workers: attempt(() => wholeNumber('WORKERS', read('WORKERS'), 1, 64), Number(VARIABLES.WORKERS.default)),
    logLevel: attempt(() => oneOf('LOG_LEVEL', read('LOG_LEVEL'), LOG_LEVELS), VARIABLES.LOG_LEVEL.default),
    metricsToken: attempt(() => checkToken(...secretOf(source, 'METRICS_TOKEN')), null),
    sudoUser: source.SUDO_USER || null,
  };
}

/** The variables without those of ours that are no UTF-8, each of which is a fault. */
function withoutMangled(source: Source, attempt: Attempt): Source {
  const kept = { ...source };
  for (const [name, value = ''] of Object.entries(source)) {
    if (!isMangled(value) || !(name in VARIABLES)) continue;
    delete kept[name];
    attempt(() => {
      throw new AppError('bad_config', mangledText(name));
    }, undefined);
  }
  return kept;
}

/** A file's path. SQLite would take an empty one and `:memory:` for a database that is gone with the process. */
export function checkDatabasePath(name: 'DATABASE_PATH' | '--db', text: string): string {
  if (text.trim() === '' || text.startsWith(':') || text.includes('\0')) throw badVariable(name, 'must name a file');
  if (isFolder(text)) throw badVariable(name, `must name a file, and ${text} is a folder`);
  return text;
}

/** False too where a folder on the way may not be passed: opening the file tells of that. */
function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
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

/**
 * A secret from `NAME`, or from the file that `NAME_FILE` names (without the white space at its ends), not from both;
 * and the variable that it came by.
 */
function secretOf(source: Source, name: 'MAIL_URL' | 'METRICS_TOKEN'): [text: string | null, variable: Variable] {
  const path = source[`${name}_FILE`] || null;
  const value = source[name] || null;
  if (path === null) return [value, name];
  if (value !== null) throw badVariable(`${name}_FILE`, `and ${name} may not both be set`);
  const text = readTextFile(`${name}_FILE`, path).trim();
  if (text === '') throw badVariable(`${name}_FILE`, `names an empty file: ${path}`);
  return [text, `${name}_FILE`];
}

function checkRateLimits(text: string): RateLimit[] {
  try {
    return parseRateLimits([text]);
  } catch {
    throw badVariable(
      'DEFAULT_RATE_LIMITS',
      `must be one to four of ${RATE_LIMIT_SYNTAX}; separated by commas, windows distinct`,
    );
  }
}
