import * as z from 'zod/mini';
import { RATE_LIMIT_SYNTAX } from '../limits/rate-limit.ts';
import { isMailAddress } from '../mail/address.ts';
import { MAIL_URL_SYNTAX, maskMailUrl, parseMailUrl } from '../mail/target.ts';
import { DEFAULT_DATABASE_PATH, isFilePath } from './database-path.ts';
import { type Kind, mapped, oneOf, onOrOff, parsed, text, wholeNumber } from './kinds.ts';
import { LOG_LEVELS } from './log-levels.ts';
import {
  isHost,
  isToken,
  parseProxies,
  parsePublicUrl,
  parseWebhook,
  TOKEN_CHARACTERS,
  WEBHOOK_SYNTAX,
} from './network.ts';
import { isPublicName, parseAddresses, parseLimits, parseUrl } from './values.ts';

/** The description of a variable. */
export type VariableMeta = {
  name: string;
  meaning: string;
  /** As a person would write it; empty if there is none. */
  default: string;
  rule: Kind<unknown>['rule'];
  /** The rule for the text in a file, for a variable that accepts `<name>_FILE`. */
  fileRule?: string;
  /** How to show the value of a variable that may contain a secret. */
  mask?: (value: string) => string;
};

const METAS = z.registry<VariableMeta>();

/** A variable that always has a value, by default `unset`. */
function variable<T>(name: string, unset: string, meaning: string, { rule, schema }: Kind<T>) {
  return z.prefault(schema, unset).register(METAS, { name, default: unset, meaning, rule });
}

/** A variable that is null if unset. */
function optional<T>(name: string, meaning: string, { rule, schema }: Kind<T>, more: Partial<VariableMeta> = {}) {
  return z._default(z.nullable(schema), null).register(METAS, { name, default: '', meaning, rule, ...more });
}

const TOKEN = text(`must consist of ${TOKEN_CHARACTERS}`, isToken);
/** A file; its existence and contents are checked after the schema. */
const PATH: Kind<string> = { rule: 'must name a file', schema: z.string() };
const HIDDEN = '(hidden)';
const mask = () => HIDDEN;

/** Every variable, in the order of the documents; a test compares them with the table in docs/run.md. */
export const Variables = z.object({
  databasePath: variable(
    'DATABASE_PATH',
    DEFAULT_DATABASE_PATH,
    'the database; its folder gets mode 0700, its files 0600',
    text('must name a file', isFilePath),
  ),
  databaseMustExist: variable(
    'DATABASE_MUST_EXIST',
    'off',
    'on: serve refuses to start if there is no database',
    onOrOff(),
  ),
  host: variable(
    'HOST',
    '127.0.0.1',
    'the IP address to listen on, or localhost',
    text('must be an IP address or localhost', isHost),
  ),
  port: variable('PORT', '3000', 'the port to listen on', wholeNumber(0, 65_535)),
  publicUrl: optional(
    'PUBLIC_URL',
    'the base URL that clients use; a trailing /api is removed; required if HOST is not loopback',
    parsed('must be an http or https URL without a user, query or fragment', parsePublicUrl),
  ),
  tlsCertFile: optional('TLS_CERT_FILE', 'the certificate in PEM format; reloaded on SIGHUP', PATH),
  tlsKeyFile: optional('TLS_KEY_FILE', 'the private key of the certificate', PATH),
  trustedProxies: optional(
    'TRUSTED_PROXIES',
    'IP addresses and CIDR blocks whose X-Forwarded-For and X-Forwarded-Proto are trusted',
    parsed(
      'must be a comma-separated list of IP addresses or CIDR blocks, for example 127.0.0.1,10.0.0.0/8',
      parseProxies,
    ),
  ),
  mail: optional(
    'MAIL_URL',
    'where e-mails go: a mail server (smtp://… or smtps://…) or a folder (file:<folder>)',
    parsed(`must be ${MAIL_URL_SYNTAX}`, parseMailUrl),
    { fileRule: `must name a file that holds ${MAIL_URL_SYNTAX}`, mask: (url) => maskMailUrl(url) ?? HIDDEN },
  ),
  mailFrom: optional(
    'MAIL_FROM',
    "the sender's e-mail address; required with a mail server",
    text('must be one plain e-mail address', isMailAddress),
  ),
  adminEmails: variable(
    'ADMIN_EMAIL',
    '',
    'the e-mail addresses that are notified of new requests, separated by commas',
    parsed('must be one plain e-mail address, or several separated by commas', parseAddresses),
  ),
  adminWebhook: optional(
    'ADMIN_WEBHOOK_URL',
    'a Discord, Slack, Mattermost or ntfy webhook that is notified of requests, leaked secrets and undeliverable mail',
    parsed(`must be ${WEBHOOK_SYNTAX}`, parseWebhook),
    { fileRule: `must name a file that holds ${WEBHOOK_SYNTAX}`, mask },
  ),
  publicName: variable(
    'PUBLIC_NAME',
    'Profile Lookup',
    'the name of the service, 1–40 characters, on pages and in documentation, mails and passkey dialogs',
    text('must be one line of 1 to 40 characters, not all of them invisible', isPublicName),
  ),
  publicLogo: optional(
    'PUBLIC_LOGO',
    'a square SVG or PNG file of at most 32 KiB, shown beside the name and as the icon; read at startup',
    PATH,
  ),
  publicColor: optional(
    'PUBLIC_COLOR',
    'the colour of links and buttons, #rrggbb; adjusted until it is readable',
    parsed('must be #rrggbb, for example #4338ca', (text) =>
      /^#[0-9a-f]{6}$/i.test(text) ? text.toLowerCase() : null,
    ),
  ),
  contact: optional(
    'CONTACT',
    'the e-mail address or URL for support, in /docs and all pages and mails',
    parsed('must be an e-mail address or an http or https URL', (text) =>
      isMailAddress(text) ? text : parseUrl(text, /^https?:$/),
    ),
  ),
  securityContact: optional(
    'SECURITY_CONTACT',
    'the e-mail address or URL in /.well-known/security.txt',
    parsed('must be an e-mail address or an https, mailto or tel URL', (text) =>
      isMailAddress(text) ? `mailto:${text}` : parseUrl(text, /^(https|mailto|tel):$/),
    ),
  ),
  developerPlatform: variable('DEVELOPER_PLATFORM', 'on', 'off: /developers and /manage are unknown paths', onOrOff()),
  maxProfileBytes: variable(
    'MAX_PROFILE_KIB',
    '64',
    'the maximum size of a public profile with its links, in KiB of JSON, 1–256; profilectl status counts larger ones',
    mapped(wholeNumber(1, 256), (kib) => kib * 1_024),
  ),
  defaultRateLimits: variable(
    'DEFAULT_RATE_LIMITS',
    '60/1m,5000/1d',
    'the rate limits that an approval grants by default, except to a successor',
    parsed(`must be one to four of ${RATE_LIMIT_SYNTAX}; separated by commas, windows distinct`, parseLimits),
  ),
  workers: variable('WORKERS', '1', 'the number of threads that answer requests, 1–64', wholeNumber(1, 64)),
  logLevel: variable(
    'LOG_LEVEL',
    'info',
    'debug, info, warn, error or silent; requests are logged at info',
    oneOf(LOG_LEVELS),
  ),
  metricsToken: optional('METRICS_TOKEN', 'the bearer token of /metrics', TOKEN, {
    fileRule: `must name a file that contains only ${TOKEN_CHARACTERS}`,
    mask,
  }),
});

/** The description of each variable, with its key in {@link Variables}. */
export const FIELDS = Object.entries(Variables.shape).flatMap(([key, schema]) => {
  const meta = METAS.get<z.ZodMiniType>(schema);
  return meta === undefined ? [] : [{ key, ...meta }];
});

type NamedVariable = Pick<VariableMeta, 'default' | 'meaning' | 'mask'>;

/** Every variable by name, including `<name>_FILE`, in the order of the documents. */
export const VARIABLES: Readonly<Record<string, NamedVariable>> = Object.fromEntries(
  FIELDS.flatMap(({ name, fileRule, ...rest }): [string, NamedVariable][] => {
    const file: [string, NamedVariable] = [`${name}_FILE`, { default: '', meaning: `a file that holds ${name}` }];
    return fileRule === undefined ? [[name, rest]] : [[name, rest], file];
  }),
);

/** The variables that name a file with a secret. */
export const SECRET_FILES = FIELDS.flatMap(({ name, fileRule }) => (fileRule === undefined ? [] : [`${name}_FILE`]));
