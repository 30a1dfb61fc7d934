import { copyFileSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import type { Db } from '../../shared/db/connect.ts';
import { MIGRATIONS } from '../../shared/db/migrate.ts';
import { apiKeys } from '../../shared/db/schema/keys.ts';
import { withTables } from '../../shared/db/tables.ts';
import { openDatabase } from '../../shared/db-files/open.ts';
import { hashSecret, newSecret } from '../../shared/keys/secret.ts';
import { profilectlWords } from '../support/cli.ts';
import { DESCRIPTION } from '../support/keys.ts';
import { type Bench, CORE, run } from './bench.ts';
import { isBanned, lineOf } from './profiles.ts';

/** A database of generated profiles, and the file from which it was imported. */
export type Generated = { path: string; lines: string; profiles: number };

const SECRETS = 10_000;
const KEYS_PER_PROFILE = 3;

/** The database of this many profiles with this many API keys (see {@link secretOf}), made if it does not exist. */
export async function generate(bench: Bench, profiles = bench.profiles, keys = keyCount(profiles)): Promise<Generated> {
  const lines = await generateLines(bench, profiles);
  const path = lines.replace(/\.jsonl$/, `-${keys}.db`);
  if (!existsSync(path)) {
    const unfinished = `${path}.unfinished`;
    await run(bench, profilectlWords(['profiles', 'import', lines, '--db', unfinished]), { core: CORE.any });
    const db = withTables(openDatabase(unfinished, 'use'));
    addKeys(db, keys);
    db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
    db.$client.close();
    // The checkpoint has emptied these.
    for (const suffix of ['-wal', '-shm']) rmSync(unfinished + suffix, { force: true });
    renameSync(unfinished, path);
  }
  await readThrough(path);
  return { path, lines, profiles };
}

/** Reads a file into the system's cache, so that the server is measured, not the disk. */
async function readThrough(path: string): Promise<void> {
  for await (const _chunk of Bun.file(path).stream());
}

/** A copy of a generated database, which may be changed, and is deleted after the run. */
export function copyOf(bench: Bench, { path }: Generated): string {
  const copy = join(bench.folder, `copy-${Bun.randomUUIDv7()}.db`);
  // A killed server may have left data in the write-ahead log.
  const db = openDatabase(path, 'use');
  db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  db.$client.close();
  copyFileSync(path, copy);
  return copy;
}

/** A file of JSON Lines with this many profiles, made if it does not exist. */
export async function generateLines(bench: Bench, profiles: number): Promise<string> {
  // The name has a checksum of generator and schema, so that a change to either results in a new file.
  const recipe = readFileSync(join(import.meta.dir, 'profiles.ts'), 'utf8') + JSON.stringify(MIGRATIONS);
  const path = join(bench.dataFolder, `${profiles}-${Bun.hash.crc32(recipe).toString(16)}.jsonl`);
  if (!existsSync(path)) {
    const ids = Array.from({ length: profiles }, (_, at) => at + 1);
    await writeLines(`${path}.unfinished`, ids, 0);
    renameSync(`${path}.unfinished`, path);
  }
  return path;
}

/** Writes the lines of these profiles. */
export async function writeLines(path: string, ids: Iterable<number>, version: number): Promise<void> {
  const writer = Bun.file(path).writer();
  let count = 0;
  for (const id of ids) {
    writer.write(`${lineOf(id, version)}\n`);
    if (++count % 1000 === 0) await writer.flush();
  }
  await writer.end();
}

/** The number of keys in a database of this many profiles: 10 000, or as many as its profiles may have. */
export function keyCount(profiles: number): number {
  return Math.min(SECRETS, profiles * KEYS_PER_PROFILE);
}

/** The numbers of the keys that work; keys of banned profiles are refused. */
export function workingKeys(profiles: number): number[] {
  const all = Array.from({ length: keyCount(profiles) }, (_, number) => number);
  return all.filter((number) => !isBanned(ownerOf(number)));
}

function ownerOf(key: number): number {
  return Math.floor(key / KEYS_PER_PROFILE) + 1;
}

/** The secret of the n-th key, from 0: the same in every generated database. */
export function secretOf(number: number): string {
  let step = 0;
  return newSecret(identifierOf(number), (bytes) => {
    return Uint8Array.from({ length: bytes }, () => Bun.hash.crc32(`${number}/${step++}`) & 0xff);
  });
}

function identifierOf(number: number): string {
  return `bench${number.toString(36).padStart(3, '0')}`;
}

/** Inserts Active keys as rows: the ten thousand mails of ten thousand approvals would take most of the benchmark. */
export function addKeys(db: Db, count: number): void {
  const permissions: ('api.lookup' | 'api.leaderboard')[] = ['api.lookup', 'api.leaderboard'];
  db.transaction(
    (tx) => {
      for (let number = 0; number < count; number++) {
        const identifier = identifierOf(number);
        tx.insert(apiKeys)
          .values({
            identifier,
            profileId: ownerOf(number),
            name: `Bot ${number}`,
            description: DESCRIPTION,
            state: 'pending',
            requestedPermissions: permissions,
            requestedAt: 1_700_000_000_000 + number,
          })
          .run();
        tx.update(apiKeys)
          .set({
            state: 'Active',
            permissions,
            rateLimits: [{ quota: 1_000_000, windowSeconds: 1 }],
            decidedAt: 1_700_000_100_000 + number,
            secretHash: Buffer.from(hashSecret(secretOf(number))),
          })
          .where(eq(apiKeys.identifier, identifier))
          .run();
      }
    },
    { behavior: 'immediate' },
  );
}
