import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type Clock, DAY_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type Config, SECRET_FILES, surveyConfig, VARIABLES } from './config.ts';
import { readEnvironment } from './environment.ts';
import { looseMode, looseModes } from './files.ts';
import { exposureFault } from './values.ts';

/** The effective value of a variable, masked if it is secret, with its origin. */
type VariableReport = { name: string; value: string | null; from: string };

/** The effective configuration, with errors that stop the program or the server, and warnings. */
export type ConfigReport = { variables: VariableReport[]; faults: string[]; warnings: string[] };

const REACH = ['HOST', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'TRUSTED_PROXIES'];

/**
 * Reports on every variable, with all errors at once; `envFile` and `db` are the values of `--env-file` and `--db`. Throws
 * `bad_config` if the file of variables can't be read.
 */
export function reportConfig(
  given: { envFile: string | undefined; db: string | undefined },
  clock: Clock,
): ConfigReport {
  const { source, inherited, file } = readEnvironment(given);
  const { config, faults } = surveyConfig(source);
  const variables = Object.entries(VARIABLES).map(([name, { default: unset, mask }]): VariableReport => {
    if (name === 'DATABASE_PATH' && given.db !== undefined) {
      return { name, value: given.db, from: '--db' };
    }
    if (name === 'PUBLIC_URL' && !source[name] && config.publicUrl !== '') {
      return { name, value: config.publicUrl, from: 'HOST and PORT' };
    }
    const value = source[name];
    if (!value) return { name, value: unset || null, from: unset === '' ? 'not set' : 'default' };
    return { name, value: mask?.(value) ?? value, from: inherited[name] === undefined ? `${file}` : 'environment' };
  });
  // If one of these is invalid, it is unknown how the server can be reached.
  const isReachKnown = !REACH.some((name) => faults.has(name));
  const tls = tlsState(config, clock.nowMs());
  const more = [isReachKnown ? exposureFault(config) : null, tls.fault];
  const files = [...SECRET_FILES, 'TLS_KEY_FILE'].map((name) => source[name]);
  const warnings = [
    ...[file, ...files].map((path) => (path ? looseMode(path) : null)),
    ...looseModes(given.db ?? config.databasePath),
    tls.warning,
    proxyWarning(config),
    faults.has('MAIL_URL') || faults.has('MAIL_URL_FILE') ? null : mailWarning(config),
  ];
  return { variables, faults: [...faults.values(), ...more].filter(isSentence), warnings: warnings.filter(isSentence) };
}

/** The warnings at the start of a server: a certificate that expires soon, proxies that are anybody, mail that is not sent. */
export function configWarnings(config: Config, nowMs: number): string[] {
  return [tlsState(config, nowMs).warning, proxyWarning(config), mailWarning(config)].filter(isSentence);
}

function isSentence(text: string | null): text is string {
  return text !== null;
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

function proxyWarning({ trustedProxies }: Config): string | null {
  const isAnybody = trustedProxies?.rules.some((rule) => rule.endsWith('/0')) ?? false;
  if (!isAnybody) return null;
  return 'TRUSTED_PROXIES names all addresses: any client can choose the address by which it is limited and logged.';
}
