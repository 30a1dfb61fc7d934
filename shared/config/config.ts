import { statSync } from 'node:fs';
import type * as z from 'zod/mini';
import { AppError } from '../errors.ts';
import { isLoopback } from '../net.ts';
import { checkDatabasePath } from './database-path.ts';
import { isMangled, mangledText, readTextFile, type Source } from './environment.ts';
import { readLogo } from './logo.ts';
import { type TlsFiles, variableError } from './network.ts';
import { FIELDS, VARIABLES, type VariableMeta, Variables } from './variables.ts';

type Settings = z.output<typeof Variables>;

/** The validated configuration. Built once per process by {@link readConfig} and passed down. */
export type Config = Omit<Settings, 'publicUrl' | 'publicLogo' | 'tlsCertFile' | 'tlsKeyFile'> & {
  /** Origin and optional prefix, without a trailing slash and without `/api`. */
  publicUrl: string;
  /** As a `data:` URL. */
  publicLogo: string | null;
  tls: TlsFiles | null;
  /** The user who called sudo. */
  sudoUser: string | null;
};

type Faults = Map<string, AppError>;

/** Reads every variable. Throws `bad_config` for the first invalid one. */
export function readConfig(source: Source): Config {
  const { config, faults } = surveyConfig(source);
  const [first] = faults.values();
  if (first !== undefined) throw first;
  return config;
}

/**
 * Reads every variable and returns all errors, in the order of the variables. In `config`, invalid variables have a harmless
 * value.
 */
export function surveyConfig(source: Source): { config: Config; faults: Faults } {
  const found: Faults = new Map();
  const { publicUrl, tlsCertFile, tlsKeyFile, ...settings } = readSettings(source, found);
  const tls = checkTls({ tlsCertFile, tlsKeyFile }, found);
  attempt(found, 'DATABASE_PATH', () => checkDatabasePath('DATABASE_PATH', settings.databasePath));
  const publicLogo = attempt(
    found,
    'PUBLIC_LOGO',
    () => settings.publicLogo && readLogo('PUBLIC_LOGO', settings.publicLogo),
  );
  attempt(found, 'MAIL_FROM', () => {
    if (settings.mail?.kind !== 'server' || settings.mailFrom !== null) return;
    throw variableError('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  });
  const url = attempt(found, 'PUBLIC_URL', () => publicUrl ?? localUrl(settings, tls !== null));
  const config = { ...settings, publicUrl: url ?? '', publicLogo, tls, sudoUser: source.SUDO_USER || null };
  const order = Object.keys(VARIABLES);
  const faults = [...found].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return { config, faults: new Map(faults) };
}

/** Runs a check of a variable that has no error yet; if it throws, stores the error and returns null. */
function attempt<T>(faults: Faults, name: string, act: () => T): T | null {
  if (faults.has(name)) return null;
  try {
    return act();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    faults.set(name, error);
    return null;
  }
}

/** The text of a variable, with the name of the variable (or its `_FILE`) and its rule for the error. */
type Found = { text: string; name: string; rule: string };

/** Parses the variables with the schema; invalid ones count as unset. */
function readSettings(source: Source, faults: Faults): Settings {
  const found = new Map<PropertyKey, Found>();
  for (const field of FIELDS) {
    const text = findText(source, field, faults);
    if (text !== null) found.set(field.key, text);
  }
  const texts = () => Object.fromEntries([...found].map(([key, { text }]) => [key, text]));
  const first = Variables.safeParse(texts());
  if (first.success) return first.data;
  for (const { path } of first.error.issues) {
    const [key = ''] = path;
    const bad = found.get(key);
    if (bad !== undefined) faults.set(bad.name, variableError(bad.name, bad.rule));
    found.delete(key);
  }
  return Variables.parse(texts());
}

/** Finds the text of a variable, or of the file named by `<name>_FILE`; setting both is an error. Null if unset or invalid. */
function findText(source: Source, { name, rule, fileRule }: VariableMeta, faults: Faults): Found | null {
  const text = attempt(faults, name, () => textOf(source, name));
  const byFile = `${name}_FILE`;
  const path = fileRule === undefined ? null : attempt(faults, byFile, () => textOf(source, byFile));
  if (fileRule === undefined || path === null) return text === null ? null : { text, name, rule };
  const inFile = attempt(faults, byFile, () => {
    if (text !== null) throw variableError(byFile, `and ${name} may not both be set`);
    return readSecretFile(byFile, path);
  });
  return inFile === null ? null : { text: inFile, name: byFile, rule: fileRule };
}

function textOf(source: Source, name: string): string | null {
  const value = source[name] || null;
  if (value !== null && isMangled(value)) throw new AppError('bad_config', mangledText(name));
  return value;
}

function readSecretFile(name: string, path: string): string {
  const text = readTextFile(name, path).trim();
  if (text === '') throw variableError(name, `names an empty file: ${path}`);
  return text;
}

function checkTls(
  { tlsCertFile, tlsKeyFile }: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>,
  faults: Faults,
): TlsFiles | null {
  if (tlsCertFile === null && tlsKeyFile === null) return null;
  const certFile = attempt(faults, 'TLS_CERT_FILE', () => existing('TLS_CERT_FILE', tlsCertFile, 'TLS_KEY_FILE'));
  const keyFile = attempt(faults, 'TLS_KEY_FILE', () => existing('TLS_KEY_FILE', tlsKeyFile, 'TLS_CERT_FILE'));
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

function existing(name: string, path: string | null, companion: string): string {
  if (path === null) throw variableError(name, `must be set if ${companion} is set`);
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
function localUrl({ host, port }: Pick<Settings, 'host' | 'port'>, isSecure: boolean): string {
  if (!isLoopback(host)) throw variableError('PUBLIC_URL', 'must be set if HOST is not a loopback address');
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
