import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { hashSecret } from '../../../shared/keys/secret.ts';
import { DESCRIPTION } from '../../support/keys.ts';
import { type Bench, CORE, run } from '../bench.ts';
import { generateLines, secretOf } from '../database.ts';
import { intervalOf, median } from '../results.ts';
import { startServe, type Target } from '../servers.ts';

// Shared by the cases of against.ts: builds the two checkouts, each with its own database, and prints ratios.

/** A checkout, compiled as users install it. Its server writes mails to `mails`; only one server may run at a time. */
export type Side = {
  name: string;
  binary: string;
  mails: string;
  variables: Record<string, string>;
  start: () => Promise<Target>;
};

/** This checkout, and the other one. */
export type Pair<T> = { mine: T; theirs: T };

/** The most keys that a profile can have, because batch lookups need more than the largest quota of one key. */
export const KEYS = 3;

/** Compiles a checkout and makes its database. Its server reads clients' IP addresses as behind a proxy. */
export async function sideOf(bench: Bench, folder: string, name: string): Promise<Side> {
  const mails = join(bench.folder, `${name}-mails`);
  const binary = join(bench.folder, `${name}-profilectl`);
  await run(bench, [process.execPath, join(folder, 'cli/build.ts'), binary, 'bench'], { core: CORE.any });
  const variables = {
    DATABASE_PATH: await databaseOf(bench, binary, name),
    PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1',
    MAIL_URL: `file:${mails}`,
  };
  return { name, binary, mails, variables, start: () => startServe(bench, [binary, 'serve'], variables) };
}

/** A database with the checkout's own schema, the generated profiles, and {@link KEYS} keys of the first profile. */
async function databaseOf(bench: Bench, binary: string, name: string): Promise<string> {
  const path = join(bench.folder, `${name}.db`);
  await run(bench, [binary, 'profiles', 'import', await generateLines(bench, bench.profiles), '--db', path], {
    core: CORE.any,
  });
  const sqlite = new Database(path, { strict: true });
  for (const secret of Array.from({ length: KEYS }, (_, number) => secretOf(number))) {
    const identifier = secret.slice(4, 12);
    sqlite.run(
      `INSERT INTO api_keys (identifier, profile_id, name, description, state, requested_permissions, requested_at)
       VALUES (?, 1, 'Bench', ?, 'pending', '["api.lookup","api.leaderboard"]', 0)`,
      [identifier, DESCRIPTION],
    );
    sqlite.run(
      `UPDATE api_keys SET state = 'Active', permissions = requested_permissions, decided_at = 0, secret_hash = ?,
       rate_limits = '[{"quota":1000000,"windowSeconds":1}]' WHERE identifier = ?`,
      [hashSecret(secret), identifier],
    );
  }
  sqlite.close();
  return path;
}

/** Prints the median of `over` ÷ `under`, round by round, its 95% confidence interval, and the medians of both. */
export function printRatio(name: string, over: readonly number[], under: readonly number[], unit: string): void {
  const ratios = over.map((value, round) => value / (under[round] as number));
  const [min, max] = intervalOf(ratios).map((ratio) => ratio.toFixed(3));
  const [first, second] = [over, under].map((values) => median(values).toFixed(1));
  const figures = `${first} ${unit}, other ${second} ${unit}`;
  process.stdout.write(`${name.padEnd(20)} ${median(ratios).toFixed(3)} (${min}–${max}); ${figures}\n`);
}

/** Prints the errors. */
export function printFaults(faults: readonly string[]): void {
  for (const fault of faults) process.stdout.write(`  wrong: ${fault}\n`);
}
