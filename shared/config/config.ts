import { isIP } from 'node:net';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import { RATE_LIMIT_SYNTAX } from '../limits/rate-limit.ts';
import { isMailAddress, MAIL_URL_SYNTAX, maskMailUrl, parseMailUrl } from '../mail/address.ts';
import { bareHost, isLoopback } from '../net.ts';
import { readSmallText } from './files.ts';
import {
  databasePathFault,
  isPublicName,
  missingFault,
  parseAddresses,
  parseContact,
  parseLimits,
  parseProxies,
  parsePublicUrl,
  parseWebhook,
  readLogo,
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

/** The name of a file, which is refused by the rule that `faultOf` returns. */
function fileName(faultOf: (path: string) => string | null) {
  return z.string().superRefine((path, context) => {
    const rule = faultOf(path);
    if (rule !== null) context.addIssue(rule);
  });
}

function oneOf<const T extends string>(allowed: readonly T[]) {
  return z.enum(allowed, `must be one of ${allowed.join(', ')}`);
}

const onOrOff = oneOf(['on', 'off']).transform((text) => text === 'on');

const Variables = z.object({
  DATABASE_PATH: fileName(databasePathFault)
    .prefault('data/profiles.db')
    .describe('the database; if the program creates its folder, that gets mode 0700, and the file 0600'),
  DATABASE_MUST_EXIST: onOrOff.prefault('off').describe('with on, serve refuses to start if there is no database'),
  HOST: z
    .string()
    .refine(
      (text) => text === 'localhost' || (isIP(text) !== 0 && !text.includes('%')),
      'must be an IP address or localhost',
    )
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
  TLS_CERT_FILE: fileName(missingFault)
    .optional()
    .describe('the certificate in PEM format, if no proxy terminates TLS; read at startup')
    .meta({ example: '/etc/ssl/profile-lookup/certificate.pem' }),
  TLS_KEY_FILE: fileName(missingFault)
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
    .describe('the e-mail addresses of the admins, for new requests and warnings, separated by commas')
    .meta({ example: 'grace@example.org' }),
  ADMIN_WEBHOOK_URL: parsed('must be an https URL, or an http URL on this machine', parseWebhook)
    .optional()
    .describe('a Discord, Slack, Mattermost or ntfy webhook for the same news about keys')
    .meta({ example: 'https://chat.example.org/hooks/xyz' }),
  PUBLIC_NAME: z
    .string()
    .refine(isPublicName, 'must be one line of 1 to 40 characters, without blanks at its ends, and not all invisible')
    .prefault('Profile Lookup')
    .describe('the name of the service, 1–40 characters, on pages and in documentation, mails and passkey dialogs'),
  PUBLIC_LOGO: z
    .string()
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
  METRICS_TOKEN: z
    .string()
    // What can be sent as a bearer token (RFC 6750, section 2.1).
    .regex(/^[A-Za-z0-9\-._~+/]+=*$/, 'must consist of letters, digits and - . _ ~ + /')
    .optional()
    .describe('the bearer token of /metrics'),
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
type VariableMeta = {
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
    // Where the service unit expects the file.
    const file = `/etc/profile-lookup/${name.toLowerCase().replaceAll('_', '-')}`;
    return [
      [name, { ...meta, mask }],
      [`${name}_FILE`, { meaning: `a file that holds ${name}`, default: '', example: file }],
    ];
  }),
);

/** The variables that name a file with a secret. */
export const SECRET_FILES = [...SECRETS.keys()].map((name) => `${name}_FILE`);

/** The validated configuration. Built once per process by {@link readConfig} and passed down. */
export type Config = ReturnType<typeof configOf>;

/** The sentence about each invalid variable, in the order of the variables. */
type Faults = ReadonlyMap<string, string>;

/** Reads every variable. Throws `bad_config` for the first invalid one. */
export function readConfig(source: Source): Config {
  const { config, faults } = surveyConfig(source);
  const [first] = faults.values();
  if (first !== undefined) throw new AppError('bad_config', first);
  return config;
}

/** Reads every variable and returns all errors. In `config`, invalid variables have a harmless value. */
export function surveyConfig(source: Source): { config: Config; faults: Faults } {
  const faults = new Map<string, string>();
  const config = configOf(readVariables(source, faults), source, faults);
  const order = Object.keys(VARIABLES);
  return { config, faults: new Map([...faults].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other))) };
}

/** Parses the variables with the schema; invalid ones count as unset. */
function readVariables(source: Source, faults: Map<string, string>): z.output<typeof Variables> {
  const valid: Record<string, string> = {};
  for (const name of NAMES) {
    const byFile = SECRETS.has(name) && source[`${name}_FILE`] ? `${name}_FILE` : null;
    const text = byFile === null ? source[name] : attempt(faults, byFile, () => readSecretFile(name, source));
    if (!text) continue;
    const schema: z.ZodType = Variables.shape[name];
    // The runtime replaces bytes that are not UTF-8; the value would name another file.
    const rule = text.includes('\uFFFD')
      ? 'must be valid UTF-8, without U+FFFD'
      : schema.safeParse(text).error?.issues[0]?.message;
    if (rule === undefined) valid[name] = text;
    else if (byFile === null) note(faults, name, rule);
    else note(faults, byFile, `names a file whose text ${rule}`);
  }
  // Once, for which zod would otherwise compile a function.
  return Variables.parse(valid, { jitless: true });
}

/** Notes the rule that a variable breaks, unless it has an error. */
function note(faults: Map<string, string>, name: string, rule: string): void {
  if (!faults.has(name)) faults.set(name, `${name} ${rule}.`);
}

/** Notes the sentence that `act` throws, and returns null then. */
function attempt<T>(faults: Map<string, string>, name: string, act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.set(name, error.message);
    return null;
  }
}

function readSecretFile(name: Name, source: Source): string {
  const file = { name: `${name}_FILE`, path: source[`${name}_FILE`] ?? '', maxKib: 64, code: 'bad_config' } as const;
  if (source[name]) throw new AppError('bad_config', `${file.name} and ${name} may not both be set.`);
  const text = readSmallText(file).trim();
  if (text === '') throw new AppError('bad_config', `${file.name} names an empty file: ${file.path}.`);
  return text;
}

/** Checks what concerns several variables, and names the values as the program does. */
function configOf(values: z.output<typeof Variables>, source: Source, faults: Map<string, string>) {
  const { HOST: host, PORT: port, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = values;
  if (!source.TLS_CERT_FILE && source.TLS_KEY_FILE) note(faults, 'TLS_CERT_FILE', 'must be set if TLS_KEY_FILE is set');
  if (source.TLS_CERT_FILE && !source.TLS_KEY_FILE) note(faults, 'TLS_KEY_FILE', 'must be set if TLS_CERT_FILE is set');
  const tls = certFile === undefined || keyFile === undefined ? null : { certFile, keyFile };
  const logo = values.PUBLIC_LOGO;
  const mail = values.MAIL_URL ?? null;
  const mailFrom = values.MAIL_FROM ?? null;
  if (mail?.kind === 'server' && mailFrom === null) {
    note(faults, 'MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  }
  const isUrlNeeded = values.PUBLIC_URL === undefined && !isLoopback(host);
  if (isUrlNeeded) note(faults, 'PUBLIC_URL', 'must be set if HOST is not a loopback address');
  const localUrl = `${tls === null ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  /** Origin and optional prefix, without a trailing slash and without `/api`. */
  const publicUrl = values.PUBLIC_URL ?? (isUrlNeeded ? '' : localUrl);
  const hasPages = values.DEVELOPER_PLATFORM && mail !== null && publicUrl !== '';
  return {
    databasePath: values.DATABASE_PATH,
    databaseMustExist: values.DATABASE_MUST_EXIST,
    host,
    port,
    publicUrl,
    ...(hasPages ? pagesOf(publicUrl) : { ownerPages: null, adminPages: null }),
    tls,
    trustedProxies: values.TRUSTED_PROXIES ?? null,
    mail,
    mailFrom,
    adminEmails: values.ADMIN_EMAIL,
    adminWebhook: values.ADMIN_WEBHOOK_URL ?? null,
    publicName: values.PUBLIC_NAME,
    /** As a `data:` URL. */
    publicLogo: logo === undefined ? null : attempt(faults, 'PUBLIC_LOGO', () => readLogo('PUBLIC_LOGO', logo)),
    contact: values.CONTACT ?? null,
    developerPlatform: values.DEVELOPER_PLATFORM,
    defaultRateLimits: values.DEFAULT_RATE_LIMITS,
    logLevel: values.LOG_LEVEL,
    metricsToken: values.METRICS_TOKEN ?? null,
    /** The user who called sudo. */
    sudoUser: source.SUDO_USER || null,
  };
}

/**
 * The URLs of the pages for owners and for admins, as mails quote them; null where nobody can sign in: over plain HTTP from
 * another machine, and with passkeys at an IP address.
 */
function pagesOf(publicUrl: string): { ownerPages: string | null; adminPages: string | null } {
  const { protocol, hostname } = new URL(publicUrl);
  const host = bareHost(hostname);
  const ownerPages = protocol === 'https:' || isLoopback(host) ? `${publicUrl}/developers` : null;
  return { ownerPages, adminPages: ownerPages === null || isIP(host) !== 0 ? null : `${ownerPages}/admin` };
}
