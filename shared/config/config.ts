import { statSync } from 'node:fs';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import { RATE_LIMIT_SYNTAX } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { MAIL_URL_SYNTAX, maskMailUrl, parseMailUrl } from '../mail/target.ts';
import { isLoopback } from '../net.ts';
import { readLogo } from './logo.ts';
import { readSmallText } from './small-file.ts';
import {
  checkDatabasePath,
  isHost,
  isPublicName,
  isToken,
  parseAddresses,
  parseContact,
  parseLimits,
  parseProxies,
  parsePublicUrl,
  parseWebhook,
  type TlsFiles,
  TOKEN_CHARACTERS,
  variableError,
  WEBHOOK_SYNTAX,
} from './values.ts';

// Every variable of the program, in the order of the documents. A schema's message follows the variable's name in errors,
// as in "PORT must be a whole number from 0 to 65535."; no message repeats a value, which may be secret.

/** The values of variables by name. */
export type Source = Record<string, string | undefined>;

/** The log levels, most verbose first; requests are logged at `info`. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A text that `parse` turns into a value; null refuses it. */
function parsed<T>(rule: string, parse: (text: string) => T | null) {
  return z.string().transform((text, context): T => {
    const value = parse(text);
    if (value !== null) return value;
    context.addIssue(rule);
    return z.NEVER;
  });
}

function oneOf<const T extends string>(allowed: readonly T[]) {
  return z.enum(allowed, `must be one of ${allowed.join(', ')}`);
}

/** The name of a file, whose existence and contents are checked after the schema. */
const file = z.string();

const onOrOff = oneOf(['on', 'off']).transform((text) => text === 'on');
const token = z.string().refine(isToken, `must consist of ${TOKEN_CHARACTERS}`);

const Variables = z.object({
  DATABASE_PATH: file
    .prefault('data/profiles.db')
    .describe('the database; if the program creates its folder, that gets mode 0700, and the file 0600'),
  DATABASE_MUST_EXIST: onOrOff.prefault('off').describe('with on, serve refuses to start if there is no database'),
  HOST: z
    .string()
    .refine(isHost, 'must be an IP address or localhost')
    .prefault('127.0.0.1')
    .describe('the IP address to listen on, or localhost'),
  PORT: parsed('must be a whole number from 0 to 65535', (text) =>
    /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null,
  )
    .prefault('3000')
    .describe('the port to listen on'),
  PUBLIC_URL: parsed('must be an http or https URL without a user, query or fragment', parsePublicUrl)
    .optional()
    .describe('the base URL that clients use; a trailing /api is removed; required if HOST is not loopback')
    .meta({ example: 'https://api.example.org' }),
  TLS_CERT_FILE: file
    .optional()
    .describe('the certificate in PEM format, if no proxy terminates TLS; read at startup')
    .meta({ example: '/etc/ssl/profile-lookup/certificate.pem' }),
  TLS_KEY_FILE: file
    .optional()
    .describe('the private key of the certificate')
    .meta({ example: '/etc/ssl/profile-lookup/certificate.key' }),
  TRUSTED_PROXIES: parsed(
    'must be a comma-separated list of IP addresses or CIDR blocks, for example 127.0.0.1,10.0.0.0/8',
    parseProxies,
  )
    .optional()
    .describe('IP addresses and CIDR blocks whose X-Forwarded-For and X-Forwarded-Proto are trusted')
    .meta({ example: '127.0.0.1' }),
  MAIL_URL: parsed(`must be ${MAIL_URL_SYNTAX}`, parseMailUrl)
    .optional()
    .describe('where e-mails go: smtp://user:password@host:port (STARTTLS), smtps://… or file:<folder>')
    .meta({ example: 'smtp://user:password@mail.example.org' }),
  MAIL_FROM: z
    .string()
    .refine(isMailAddress, 'must be one plain e-mail address')
    .optional()
    .describe("the sender's e-mail address; required with a mail server")
    .meta({ example: 'keys@example.org' }),
  ADMIN_EMAIL: parsed('must be one plain e-mail address, or several separated by commas', parseAddresses)
    .prefault('')
    .describe('the e-mail addresses that are notified of new requests, separated by commas')
    .meta({ example: 'grace@example.org' }),
  ADMIN_WEBHOOK_URL: parsed(`must be ${WEBHOOK_SYNTAX}`, parseWebhook)
    .optional()
    .describe('a Discord, Slack, Mattermost or ntfy webhook that is told of requests and leaked secrets')
    .meta({ example: 'https://chat.example.org/hooks/xyz' }),
  PUBLIC_NAME: z
    .string()
    .refine(isPublicName, 'must be one line of 1 to 40 characters, not all of them invisible')
    .prefault('Profile Lookup')
    .describe('the name of the service, 1–40 characters, on pages and in documentation, mails and passkey dialogs'),
  PUBLIC_LOGO: file
    .optional()
    .describe('a square SVG or PNG file of at most 32 KiB, shown beside the name and as the icon; read at startup')
    .meta({ example: '/usr/local/share/profile-lookup/logo.svg' }),
  CONTACT: parsed('must be an e-mail address or an http or https URL', parseContact)
    .optional()
    .describe('the e-mail address or URL for support, in /docs, all pages and mails, and /.well-known/security.txt')
    .meta({ example: 'support@example.org' }),
  DEVELOPER_PLATFORM: onOrOff.prefault('on').describe('with off, /developers and /manage are unknown paths'),
  DEFAULT_RATE_LIMITS: parsed(
    `must be one to four of ${RATE_LIMIT_SYNTAX}; separated by commas, windows distinct`,
    parseLimits,
  )
    .prefault('60/1m,5000/1d')
    .describe('the rate limits that an approval grants by default, except to a successor'),
  LOG_LEVEL: oneOf(LOG_LEVELS)
    .prefault('info')
    .describe('what is logged at least: debug, info (with every request), warn, error or silent (nothing)'),
  METRICS_TOKEN: token.optional().describe('the bearer token of /metrics'),
});

type Name = keyof typeof Variables.shape;

const NAMES = Object.keys(Variables.shape) as Name[];

const HIDDEN = '(hidden)';

/** The variables with secrets, which `<name>_FILE` may set too, and how to show their values. */
const SECRETS = new Map<Name, (value: string) => string>([
  ['MAIL_URL', (url) => maskMailUrl(url) ?? HIDDEN],
  ['ADMIN_WEBHOOK_URL', () => HIDDEN],
  ['METRICS_TOKEN', () => HIDDEN],
]);

/** What documents and `config check` say of a variable. */
export type VariableMeta = {
  meaning: string;
  /** As a person would write it; empty if there is none. */
  default: string;
  /** A value for `deploy/settings.example`, where there is no default. */
  example: string;
  /** How to show the value of a variable that may contain a secret. */
  mask?: (value: string) => string;
};

/** Every variable by name, including `<name>_FILE`, in the order of the documents. */
export const VARIABLES: Readonly<Record<string, VariableMeta>> = Object.fromEntries(
  NAMES.flatMap((name): [string, VariableMeta][] => {
    const schema: z.ZodType = Variables.shape[name];
    const unset = schema instanceof z.ZodPrefault ? String(schema.def.defaultValue) : '';
    const mask = SECRETS.get(name);
    const { description = '', example = '' } = schema.meta() ?? {};
    const meta = { meaning: description, default: unset, example: String(example) };
    if (mask === undefined) return [[name, meta]];
    return [
      [name, { ...meta, mask }],
      [`${name}_FILE`, { meaning: `a file that holds ${name}`, default: '', example: exampleFile(name) }],
    ];
  }),
);

/** Where the file of a secret is, as the service unit expects it. */
function exampleFile(name: Name): string {
  return `/etc/profile-lookup/${name.toLowerCase().replaceAll('_', '-')}`;
}

/** The variables that name a file with a secret. */
export const SECRET_FILES = [...SECRETS.keys()].map((name) => `${name}_FILE`);

/** The validated configuration. Built once per process by {@link readConfig} and passed down. */
export type Config = ReturnType<typeof configOf>;

/** The sentence about each invalid variable, in the order of the variables. */
export type Faults = ReadonlyMap<string, string>;

/** Reads every variable. Throws `bad_config` for the first invalid one. */
export function readConfig(source: Source): Config {
  const { config, faults } = surveyConfig(source);
  const [first] = faults.values();
  if (first !== undefined) throw new AppError('bad_config', first);
  return config;
}

/** Reads every variable and returns all errors. In `config`, invalid variables have a harmless value. */
export function surveyConfig(source: Source): { config: Config; faults: Faults } {
  const found = new Map<string, string>();
  const config = configOf(readVariables(source, found), source, found);
  const order = Object.keys(VARIABLES);
  return { config, faults: new Map([...found].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other))) };
}

/** Parses the variables with the schema; invalid ones count as unset. */
function readVariables(source: Source, faults: Map<string, string>): z.output<typeof Variables> {
  const texts = new Map<PropertyKey, { text: string; name: string }>();
  for (const name of NAMES) {
    const text = source[name] || null;
    const path = SECRETS.has(name) ? source[`${name}_FILE`] || null : null;
    if (text?.includes('\uFFFD')) {
      // The runtime replaces bytes that are not UTF-8; the value would name another file.
      faults.set(name, variableError(name, 'must be valid UTF-8, without U+FFFD').message);
    } else if (path !== null) {
      const inFile = attempt(faults, `${name}_FILE`, () => readSecretFile(name, path, text !== null));
      if (inFile !== null) texts.set(name, { text: inFile, name: `${name}_FILE` });
    } else if (text !== null) texts.set(name, { text, name });
  }
  const given = () => Object.fromEntries([...texts].map(([name, { text }]) => [name, text]));
  const first = Variables.safeParse(given());
  if (first.success) return first.data;
  for (const { path, message } of first.error.issues) {
    const [variable = ''] = path;
    const name = texts.get(variable)?.name ?? String(variable);
    const rule = name === variable ? message : `names a file whose text ${message}`;
    if (!faults.has(name)) faults.set(name, variableError(name, rule).message);
    texts.delete(variable);
  }
  return Variables.parse(given());
}

/** Runs a check of a variable that has no error yet; if it throws, stores the sentence and returns null. */
function attempt<T>(faults: Map<string, string>, name: string, act: () => T): T | null {
  if (faults.has(name)) return null;
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.set(name, error.message);
    return null;
  }
}

function readSecretFile(name: string, path: string, isSetToo: boolean): string {
  const byFile = `${name}_FILE`;
  if (isSetToo) throw variableError(byFile, `and ${name} may not both be set`);
  const text = readSmallText({ name: byFile, path, maxKib: 64, code: 'bad_config' }).trim();
  if (text === '') throw variableError(byFile, `names an empty file: ${path}`);
  return text;
}

/** Checks what concerns several variables or files, and names the values as the program does. */
function configOf(values: z.output<typeof Variables>, source: Source, faults: Map<string, string>) {
  const tls = tlsOf(values, faults);
  attempt(faults, 'DATABASE_PATH', () => checkDatabasePath('DATABASE_PATH', values.DATABASE_PATH));
  const logo = values.PUBLIC_LOGO;
  const publicLogo = logo === undefined ? null : attempt(faults, 'PUBLIC_LOGO', () => readLogo('PUBLIC_LOGO', logo));
  const mail = values.MAIL_URL ?? null;
  const mailFrom = values.MAIL_FROM ?? null;
  attempt(faults, 'MAIL_FROM', () => {
    if (mail?.kind !== 'server' || mailFrom !== null) return;
    throw variableError('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  });
  const { HOST: host, PORT: port } = values;
  const publicUrl = attempt(faults, 'PUBLIC_URL', () => values.PUBLIC_URL ?? localUrl(host, port, tls !== null));
  return {
    databasePath: values.DATABASE_PATH,
    databaseMustExist: values.DATABASE_MUST_EXIST,
    host,
    port,
    /** Origin and optional prefix, without a trailing slash and without `/api`. */
    publicUrl: publicUrl ?? '',
    tls,
    trustedProxies: values.TRUSTED_PROXIES ?? null,
    mail,
    mailFrom,
    adminEmails: values.ADMIN_EMAIL,
    adminWebhook: values.ADMIN_WEBHOOK_URL ?? null,
    publicName: values.PUBLIC_NAME,
    /** As a `data:` URL. */
    publicLogo,
    contact: values.CONTACT ?? null,
    developerPlatform: values.DEVELOPER_PLATFORM,
    defaultRateLimits: values.DEFAULT_RATE_LIMITS,
    logLevel: values.LOG_LEVEL,
    metricsToken: values.METRICS_TOKEN ?? null,
    /** The user who called sudo. */
    sudoUser: source.SUDO_USER || null,
  };
}

function tlsOf(values: z.output<typeof Variables>, faults: Map<string, string>): TlsFiles | null {
  const { TLS_CERT_FILE: cert, TLS_KEY_FILE: key } = values;
  if (cert === undefined && key === undefined) return null;
  const certFile = attempt(faults, 'TLS_CERT_FILE', () => existing('TLS_CERT_FILE', cert, 'TLS_KEY_FILE'));
  const keyFile = attempt(faults, 'TLS_KEY_FILE', () => existing('TLS_KEY_FILE', key, 'TLS_CERT_FILE'));
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

function existing(name: string, path: string | undefined, companion: string): string {
  if (path === undefined) throw variableError(name, `must be set if ${companion} is set`);
  if (!isFile(path)) throw variableError(name, `does not name an existing file: ${path}`);
  return path;
}

/** Whether a path leads to a file; false for an invalid path, or one through an inaccessible folder. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The default of PUBLIC_URL if only this machine can reach the server. */
function localUrl(host: string, port: number, isSecure: boolean): string {
  if (!isLoopback(host)) throw variableError('PUBLIC_URL', 'must be set if HOST is not a loopback address');
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
