import { statSync } from 'node:fs';
import * as z from 'zod/mini';
import { AppError } from '../errors.ts';
import { isLoopback } from '../net.ts';
import { checkDatabasePath } from './database-path.ts';
import { isMangled, mangledText, readTextFile, type Source } from './environment.ts';
import { readLogo } from './logo.ts';
import { badVariable, type TlsFiles } from './network.ts';
import { FIELDS, VARIABLES, type VariableMeta, Variables } from './variables.ts';

/** The variables of a machine with a database; the others say which server `profilectl` asks instead. */
const Settings = z.omit(Variables, { profilectlHost: true, profilectlToken: true });

type Settings = z.output<typeof Settings>;

/** What the environment says, checked. Built once per process by {@link readConfig}; passed down from there. */
export type Config = Omit<Settings, 'publicUrl' | 'publicLogo' | 'tlsCertFile' | 'tlsKeyFile'> & {
  /** Origin and optional prefix, without a trailing slash and without `/api`. */
  publicUrl: string;
  /** The picture as a `data:` URL. */
  publicLogo: string | null;
  tls: TlsFiles | null;
  /** Who called sudo, where someone did. */
  sudoUser: string | null;
};

/** The faults of an environment: at most one for each variable, by its name. */
type Faults = Map<string, AppError>;

/** Checks every variable. Throws `bad_config` with the first bad one's name and what is allowed. */
export function readConfig(source: Source): Config {
  const { config, faults } = surveyConfig(source);
  const [first] = faults.values();
  if (first !== undefined) throw first;
  return config;
}

/**
 * Every fault of the environment at once, in the order of the variables, the first as {@link readConfig} throws it; in
 * `config` a harmless value stands in for each bad one.
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
    throw badVariable('MAIL_FROM', 'must be set to the sender address, since MAIL_URL names a mail server');
  });
  const url = attempt(found, 'PUBLIC_URL', () => publicUrl ?? localUrl(settings, tls !== null));
  const config = { ...settings, publicUrl: url ?? '', publicLogo, tls, sudoUser: source.SUDO_USER || null };
  const order = Object.keys(VARIABLES);
  const faults = [...found].sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return { config, faults: new Map(faults) };
}

/** Runs a check of a variable, unless a fault of it is known already. Its refusal becomes the variable's fault; then null. */
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

/** The text of a variable as it was found: the variable that it came by, and what is said where it is bad. */
type Found = { text: string; name: string; rule: string };

/** What the schema makes of the variables; those with a fault count as unset. */
function readSettings(source: Source, faults: Faults): Settings {
  const found = new Map<PropertyKey, Found>();
  for (const field of FIELDS) {
    const text = findText(source, field, faults);
    if (text !== null) found.set(field.key, text);
  }
  const texts = () => Object.fromEntries([...found].map(([key, { text }]) => [key, text]));
  const first = Settings.safeParse(texts());
  if (first.success) return first.data;
  for (const { path } of first.error.issues) {
    const [key = ''] = path;
    const bad = found.get(key);
    if (bad !== undefined) faults.set(bad.name, badVariable(bad.name, bad.rule));
    found.delete(key);
  }
  return Settings.parse(texts());
}

/**
 * The text of a variable, or of the file that `<name>_FILE` names where it may (without the white space at its ends), not
 * of both; null where it is not set, or something is wrong with it.
 */
function findText(source: Source, { name, rule, fileRule }: VariableMeta, faults: Faults): Found | null {
  const text = attempt(faults, name, () => textOf(source, name));
  const byFile = `${name}_FILE`;
  const path = fileRule === undefined ? null : attempt(faults, byFile, () => textOf(source, byFile));
  if (fileRule === undefined || path === null) return text === null ? null : { text, name, rule };
  const inFile = attempt(faults, byFile, () => {
    if (text !== null) throw badVariable(byFile, `and ${name} may not both be set`);
    return readSecretFile(byFile, path);
  });
  return inFile === null ? null : { text: inFile, name: byFile, rule: fileRule };
}

/** Null for a variable that is not set or empty. */
function textOf(source: Source, name: string): string | null {
  const value = source[name] || null;
  if (value !== null && isMangled(value)) throw new AppError('bad_config', mangledText(name));
  return value;
}

function readSecretFile(name: string, path: string): string {
  const text = readTextFile(name, path).trim();
  if (text === '') throw badVariable(name, `names an empty file: ${path}`);
  return text;
}

/** Certificate and key, both files that exist, or neither. */
function checkTls(
  { tlsCertFile, tlsKeyFile }: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>,
  faults: Faults,
): TlsFiles | null {
  if (tlsCertFile === null && tlsKeyFile === null) return null;
  const certFile = attempt(faults, 'TLS_CERT_FILE', () => existing('TLS_CERT_FILE', tlsCertFile, 'TLS_KEY_FILE'));
  const keyFile = attempt(faults, 'TLS_KEY_FILE', () => existing('TLS_KEY_FILE', tlsKeyFile, 'TLS_CERT_FILE'));
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

/** The path that `name` has, which goes with `companion`. */
function existing(name: string, path: string | null, companion: string): string {
  if (path === null) throw badVariable(name, `must be set where ${companion} is`);
  if (!isFile(path)) throw badVariable(name, `names a file that does not exist: ${path}`);
  return path;
}

/** False too where a path can't be one, or leads through what may not be passed. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The public address where none is set: that of the listener, if only this machine can reach it. */
function localUrl({ host, port }: Pick<Settings, 'host' | 'port'>, isSecure: boolean): string {
  if (!isLoopback(host)) throw badVariable('PUBLIC_URL', 'must be set where HOST is not a loopback address');
  return `${isSecure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
