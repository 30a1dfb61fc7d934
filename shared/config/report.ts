import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Clock, DAY_MS } from '../clock.ts';
import { looseModes } from '../db-files/loose-modes.ts';
import { AppError } from '../errors.ts';
import { looseMode } from '../file-mode.ts';
import { type Config, surveyConfig } from './config.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { environmentWarnings } from './environment-warnings.ts';
import { exposureFault } from './network.ts';
import { SECRET_FILES, VARIABLES } from './variables.ts';

/** The effective value of a variable, masked if it is secret, with its origin. */
export type VariableReport = { name: string; value: string | null; from: string };

/** The effective configuration, with errors that stop the program or the server, and warnings. */
export type ConfigReport = { variables: VariableReport[]; faults: string[]; warnings: string[] };

const REACH = ['HOST', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRUSTED_PROXIES'];

/**
 * Reports on every variable, with all errors at once. `envFile` and `databasePath` are the values of `--env-file` and `--db`.
 * Throws `bad_config` if the environment file can't be read.
 */
export function reportConfig(
  given: { envFile: string | undefined; databasePath: string | undefined },
  clock: Clock,
): ConfigReport {
  const environment = readEnvironment(given.envFile);
  const { source } = environment;
  const { config, faults } = surveyConfig(source);
  const variables = Object.entries(VARIABLES).map(([name, { default: unset, mask }]): VariableReport => {
    if (name === 'DATABASE_PATH' && given.databasePath !== undefined) {
      return { name, value: given.databasePath, from: '--db' };
    }
    if (name === 'PUBLIC_URL' && !source[name] && config.publicUrl !== '') {
      return { name, value: config.publicUrl, from: 'HOST and PORT' };
    }
    const value = source[name];
    if (!value) return { name, value: unset || null, from: unset === '' ? 'not set' : 'default' };
    return { name, value: mask?.(value) ?? value, from: originOf(name, value, environment) };
  });
  // If one of these is invalid, it is unknown how the server can be reached.
  const isReachKnown = !REACH.some((name) => faults.has(name));
  const tls = tlsState(config, clock.nowMs());
  const more = [isReachKnown ? exposureFault(config) : null, tls.fault];
  const files = [...SECRET_FILES, 'TLS_KEY_FILE'].map((name) => source[name]);
  const warnings = [
    ...environmentWarnings(environment),
    ...files.map((path) => (path ? looseMode(path) : null)),
    ...looseModes(given.databasePath ?? config.databasePath),
    tls.warning,
    faults.has('MAIL_URL') || faults.has('MAIL_URL_FILE') ? null : mailWarning(config),
  ];
  const sentences = [...faults.values()].map(({ message }) => message);
  return { variables, faults: [...sentences, ...more].filter(isSentence), warnings: warnings.filter(isSentence) };
}

/** The warnings at the start of a server: a certificate that expires soon, mail that is not sent. */
export function configWarnings(config: Config, nowMs: number): string[] {
  return [tlsState(config, nowMs).warning, mailWarning(config)].filter(isSentence);
}

function isSentence(text: string | null): text is string {
  return text !== null;
}

function originOf(name: string, value: string, { inherited, dotFiles }: Environment): string {
  if (inherited[name] === undefined) return '--env-file';
  // The environment takes precedence over these files; with the same value in both, either is right.
  return dotFiles.find(({ values }) => values[name] === value)?.path ?? 'environment';
}

/** Certificates are usually renewed 30 days before they expire; if 14 days are left, the renewal has failed. */
const EXPIRY_WARNING_DAYS = 14;

/** The warning if a certificate has expired or expires within 14 days, otherwise null. */
export function certificateWarning(certificate: X509Certificate, certFile: string, nowMs: number): string | null {
  const daysLeft = Math.floor((Date.parse(certificate.validTo) - nowMs) / DAY_MS);
  if (daysLeft >= EXPIRY_WARNING_DAYS) return null;
  return `The certificate in ${certFile} ${daysLeft < 0 ? 'has expired' : `expires in ${daysLeft} days`}.`;
}

function tlsState({ tls }: Config, nowMs: number): { fault: string | null; warning: string | null } {
  if (tls === null) return { fault: null, warning: null };
  try {
    const certificate = new X509Certificate(readWanted('TLS_CERT_FILE', tls.certFile));
    const key = createPrivateKey(readWanted('TLS_KEY_FILE', tls.keyFile));
    if (!certificate.checkPrivateKey(key)) throw new Error('the key belongs to another certificate');
    return { fault: null, warning: certificateWarning(certificate, tls.certFile, nowMs) };
  } catch (error) {
    const fault =
      error instanceof AppError
        ? error.message
        : 'TLS_CERT_FILE and TLS_KEY_FILE must contain a PEM certificate and the private key that belongs to it.';
    return { fault, warning: null };
  }
}

function readWanted(name: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new AppError('bad_config', `${name} names a file that can't be read: ${path}.`);
  }
}

function mailWarning({ mail }: Config): string | null {
  if (mail === null) return 'MAIL_URL is not set: no key can be approved.';
  return mail.kind === 'folder' ? `Mails are written to the folder ${mail.folder}, not sent.` : null;
}
