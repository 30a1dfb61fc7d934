import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Db, Opened } from './db/connect.ts';
import type { Mailer } from './mail/mail.ts';
import { type Random, systemRandom } from './random.ts';

/**
 * External dependencies of the functions in `shared/`. The server or a command builds them once and passes them down;
 * tests replace the clock, the randomness and the lease.
 */
export type Deps = {
  db: Db;
  clock: Clock;
  random: Random;
  /** Loads the mailer when a mail is to be sent; null if `MAIL_URL` is unset. */
  mailer: () => Promise<Mailer | null>;
  config: Config;
  /** How long an approval attempt excludes others, in milliseconds. */
  approvalLeaseMs: number;
};

/** The part of {@link Deps} that the server needs: its database has no Drizzle. */
export type ServerDeps = Omit<Deps, 'db'> & { db: Opened };

/** The lease of an approval attempt in milliseconds: twice the longest time of a delivery. */
export const APPROVAL_LEASE_MS = 120_000;

/** Builds the real dependencies: the machine's clocks and randomness, and mail as configured. */
export function createDeps<Database extends Opened>(db: Database, config: Config): ServerDeps & { db: Database } {
  return { db, random: systemRandom, approvalLeaseMs: APPROVAL_LEASE_MS, ...createMailDeps(config) };
}

/** Builds the dependencies that need no database. */
export function createMailDeps(config: Config): Pick<Deps, 'clock' | 'mailer' | 'config'> {
  return {
    clock: systemClock,
    mailer: async () => {
      if (config.mail === null) return null;
      // Loading nodemailer takes about 30 ms, a quarter of the time of `keys list`, and most commands send no mail.
      const { createMailer } = await import('./mail/mailer.ts');
      return createMailer(config.mail, config.mailFrom, { senderName: config.publicName });
    },
    config,
  };
}
