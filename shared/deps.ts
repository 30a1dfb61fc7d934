import { isIP } from 'node:net';
import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Db } from './db/connect.ts';
import { isMailAddress } from './mail/address.ts';
import type { Mailer } from './mail/send.ts';
import { type Random, systemRandom } from './random.ts';

/**
 * The external dependencies of functions in `shared/`. The server or a command builds them once and passes them down; tests
 * replace clock, randomness and lease.
 */
export type Deps = {
  db: Db;
  clock: Clock;
  random: Random;
  /** Loads the mailer when it is needed; null if `MAIL_URL` is unset. */
  mailer: () => Promise<Mailer | null>;
  config: Config;
  /** How long an approval attempt excludes others. */
  approvalLeaseMs: number;
};

/** The lease of an approval attempt in milliseconds: twice the time limit of a delivery. */
export const APPROVAL_LEASE_MS = 120_000;

/** Builds the dependencies of a real program: the machine's clocks and randomness, and mail as configured. */
export function createDeps(db: Db, config: Config): Deps {
  return { db, random: systemRandom, approvalLeaseMs: APPROVAL_LEASE_MS, ...createMailDeps(config) };
}

/** Builds the dependencies that need no database. */
export function createMailDeps(config: Config): Pick<Deps, 'clock' | 'mailer' | 'config'> {
  return {
    clock: systemClock,
    mailer: async () => {
      if (config.mail === null) return null;
      // Loading nodemailer takes about 30 ms, a quarter of the time of `keys list`, and most commands send no mail.
      const { createMailer } = await import('./mail/send.ts');
      const { contact, mail, mailFrom, publicName, publicUrl } = config;
      return createMailer(mail, mailFrom, {
        senderName: publicName,
        replyTo: contact !== null && isMailAddress(contact) ? contact : null,
        machine: machineOf(publicUrl),
      });
    },
    config,
  };
}

/** How EHLO names this machine: an IP address stands in brackets (RFC 5321, section 4.1.3). */
function machineOf(publicUrl: string): string {
  const { hostname } = new URL(publicUrl);
  return isIP(hostname) === 4 ? `[${hostname}]` : hostname.replace(/^\[/, '[IPv6:');
}
