import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CORE, run } from '../bench.ts';
import { keyCount } from '../database.ts';
import { isBanned, usernameOf } from '../profiles.ts';
import { startOurs, type Target } from '../servers.ts';
import { freePort } from './commands.ts';
import type { VisitorsJob, VisitorsReport } from './visitors.ts';

// Visits to the Developer Platform, made by visitors.ts, on a server that is measured.

/** Visits that start each second; each is a sign-in, a request and a decision. */
export const VISITS_PER_SECOND = 7;

/** Sign-ins, requests and decisions that start each second, taken together. */
export const ACTIONS_PER_SECOND = 3 * VISITS_PER_SECOND;

/** The variables of a server that has visitors. */
export type VisitedSettings = Pick<VisitorsJob, 'DATABASE_PATH' | 'PUBLIC_URL' | 'PORT' | 'MAIL_URL'>;

/** Starts a server that can have visitors, on this database. */
export async function startForVisitors(
  bench: Bench,
  database: string,
): Promise<{ ours: Target; settings: VisitedSettings }> {
  const port = String(freePort());
  const settings = {
    PORT: port,
    // Passkeys need a host name.
    PUBLIC_URL: `http://localhost:${port}`,
    // Visitors come from many IP addresses, as behind a proxy.
    TRUSTED_PROXIES: '127.0.0.1',
    MAIL_URL: `file:${join(bench.folder, 'mails')}`,
  };
  return { ours: await startOurs(bench, database, settings), settings: { ...settings, DATABASE_PATH: database } };
}

/** Owners without a key; each visits once. */
export function ownersWithoutKeys({ profiles }: Bench): VisitorsJob['owners'] {
  const ids = Array.from({ length: profiles }, (_, at) => at + 1).filter((id) => id > keyCount(profiles) / 3);
  const able = ids.filter((id) => !isBanned(id));
  return able.map((id) => ({ name: usernameOf(id), address: `owner${id}@example.org` }));
}

/** Lets these owners visit, {@link VISITS_PER_SECOND} each second, and waits for the last one. */
export async function visit(
  bench: Bench,
  settings: VisitedSettings,
  owners: VisitorsJob['owners'],
): Promise<VisitorsReport> {
  const job: VisitorsJob = { ...settings, owners, perSecond: VISITS_PER_SECOND };
  const file = join(bench.folder, `visitors-${Bun.randomUUIDv7()}.json`);
  const output = `${file}.txt`;
  writeFileSync(file, JSON.stringify(job));
  const words = ['nice', '-n', '5', process.execPath, join(import.meta.dir, 'visitors.ts'), file];
  await run(bench, words, { core: CORE.client, output });
  return JSON.parse(readFileSync(output, 'utf8'));
}
