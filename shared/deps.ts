import { type Clock, systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import type { Db, Opened } from './db/connect.ts';
import type { Mailer } from './mail/mail.ts';
import { type Random, systemRandom } from './random.ts';

/** What the rules need from outside, built once by a door and passed down; tests replace clock, randomness and lease. */
export type Deps = {
  db: Db;
  clock: Clock;
  random: Random;
  /** Loaded where a mail is really sent; null while `MAIL_URL` is unset. */
  mailer: () => Promise<Mailer | null>;
  config: Config;
  /** How long an approval attempt keeps others away, milliseconds. */
  approvalLeaseMs: number;
};

/** As much of it as the server needs. */
export type ServerDeps = Omit<Deps, 'db'> & { db: Opened };

/** The lease of an approval attempt: twice what a delivery may take. */
export const APPROVAL_LEASE_MS = 120_000;

/** The real thing: the machine's clocks and randomness, mail as configured. */
export function createDeps<Database extends Opened>(db: Database, config: Config): ServerDeps & { db: Database } {
  return { db, random: systemRandom, approvalLeaseMs: APPROVAL_LEASE_MS, ...createMailDeps(config) };
}

/** As much of it as needs no database. */
export function createMailDeps(config: Config): Pick<Deps, 'clock' | 'mailer' | 'config'> {
  return {
    clock: systemClock,
    mailer: async () => {
      if (config.mail === null) return null;
      const { createMailer } = await import('./mail/mailer.ts');
      return createMailer(config.mail, config.mailFrom);
    },
    config,
  };
}
