/**
 * Every variable: its default as a person would write it, empty where there is none, and what it is for. A test compares
 * the table in docs/operating.md with this.
 */
export const VARIABLES = {
  DATABASE_PATH: { default: 'data/profiles.db', meaning: 'the database; its folder gets mode 0700, its files 0600' },
  DATABASE_MUST_EXIST: {
    default: 'off',
    meaning: 'on: serve refuses where there is no database, such as on a volume that is not mounted',
  },
  HOST: { default: '127.0.0.1', meaning: 'the address to listen on' },
  PORT: { default: '3000', meaning: 'the port to listen on' },
  PUBLIC_URL: {
    default: '',
    meaning: 'what clients see: origin and optional prefix, without /api; needed where HOST is not loopback',
  },
  TLS_CERT_FILE: { default: '', meaning: 'the certificate, PEM; re-read on SIGHUP' },
  TLS_KEY_FILE: { default: '', meaning: 'its key' },
  TRUSTED_PROXIES: {
    default: '',
    meaning: 'addresses and CIDR blocks whose X-Forwarded-For and X-Forwarded-Proto count',
  },
  MAIL_URL: { default: '', meaning: 'smtp://…, smtps://… or file:<folder>' },
  MAIL_URL_FILE: { default: '', meaning: 'a file that holds MAIL_URL' },
  MAIL_FROM: { default: '', meaning: 'the sender; needed with a mail server' },
  ADMIN_EMAIL: {
    default: '',
    meaning: 'who is told of each new request: one address, or several separated by commas',
  },
  CONTACT: {
    default: '',
    meaning: 'whom owners ask, an e-mail address or a web address: named in /docs and in every mail',
  },
  SECURITY_CONTACT: { default: '', meaning: 'an address for /.well-known/security.txt' },
  DEVELOPER_PLATFORM: {
    default: 'on',
    meaning: 'off: there are no pages for owners and admins; /developers and /manage are unknown paths',
  },
  MAX_PROFILE_KIB: {
    default: '64',
    meaning:
      'what lookups may show of a profile, its links included, as JSON, 1–256; bigger ones are refused by imports and profiles set, those stored before are served and counted by status',
  },
  DEFAULT_RATE_LIMITS: {
    default: '60/1m,5000/1d',
    meaning: 'what an approval grants where nothing else is said; a successor gets what the old key has',
  },
  WORKERS: { default: '1', meaning: 'threads that answer requests, 1–64' },
  LOG_LEVEL: { default: 'info', meaning: 'debug, info, warn, error or silent; requests are logged at info' },
  METRICS_TOKEN: { default: '', meaning: 'the bearer token of /metrics' },
  METRICS_TOKEN_FILE: { default: '', meaning: 'a file that holds METRICS_TOKEN' },
  PROFILECTL_HOST: {
    default: '',
    meaning: 'the server that keys and profiles import ask, where no database here is meant',
  },
  PROFILECTL_TOKEN: { default: '', meaning: 'the token for it, instead of the one that a login has stored' },
} as const satisfies Record<string, { default: string; meaning: string }>;

/** The name of a variable. */
export type Variable = keyof typeof VARIABLES;

/** Variables and their values, as an environment has them. */
export type Source = Record<string, string | undefined>;

/** A file that sets variables. */
export type EnvironmentFile = { path: string; values: Source };
