import { expect, test } from 'bun:test';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../shared/files/open.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import { PROJECT } from '../../support/cli.ts';
import { IMPORT_OPTIONS } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

const MIB = 1_048_576;

/** Two connections in another process: each begins to read 5 ms before the other ends. */
const READERS = (path: string) => `
  import { openDatabase } from ${JSON.stringify(join(PROJECT, 'shared/files/open.ts'))};
  const readers = [1, 2].map(() => openDatabase(${JSON.stringify(path)}, 'use').$client);
  const begin = (reader) => {
    reader.run('BEGIN');
    reader.query('SELECT count(*) FROM profiles').get();
  };
  begin(readers[0]);
  for (let turn = 1; ; turn++) {
    const reader = readers[turn % 2];
    begin(reader);
    Bun.sleepSync(5);
    readers[(turn + 1) % 2].run('COMMIT');
    if (turn === 1) console.log('reading');
  }`;

/** About 80 MiB of profiles, in chunks. */
function* profiles(): Generator<Uint8Array> {
  for (let id = 1; id <= 5_000; id++) {
    yield Buffer.from(`${JSON.stringify({ id, username: `u${id}`, displayName: 'x'.repeat(16_000) })}\n`);
  }
}

test('the log stays short during an import beside readers that overlap', async () => {
  const made = testDeps();
  const deps = { ...made, db: openDatabase(made.config.databasePath, 'fill') };
  const path = deps.config.databasePath;
  const script = join(deps.folder, 'readers.ts');
  writeFileSync(script, READERS(path));
  const readers = Bun.spawn([process.execPath, script], { stdout: 'pipe', stderr: 'inherit' });
  try {
    await readers.stdout.getReader().read();
    let longest = 0;
    const onProgress = () => {
      longest = Math.max(longest, statSync(`${path}-wal`).size);
    };
    const result = await importProfiles(deps, profiles(), { ...IMPORT_OPTIONS, onProgress });
    expect(result).toMatchObject({ imported: 5_000, refused: [] });
    // It is checkpointed at 16 MiB; once or twice an import may stop waiting for the readers.
    expect(longest).toBeGreaterThan(8 * MIB);
    expect(longest).toBeLessThan(56 * MIB);
  } finally {
    deps.db.$client.close();
    readers.kill();
    await readers.exited;
  }
}, 30_000);
