import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFile } from '../../../shared/db/connect.ts';
import { MIGRATIONS, migrate } from '../../../shared/db/migrate.ts';
import { PROJECT } from '../cli.ts';
import { tempFolder } from '../world.ts';

const NEXT = readFileSync(join(PROJECT, 'test/fixtures/next-version.sql'), 'utf8');

/** The migrations of a made-up next version. */
export const NEXT_MIGRATIONS: readonly string[] = [...MIGRATIONS, NEXT];

/** Makes a database as the current version does, or with these migrations. `fill` are statements that add content. */
export function makeDatabase(path: string, fill: readonly string[] = [], migrations = MIGRATIONS): void {
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path, migrations);
  for (const statement of fill) sqlite.run(statement);
  sqlite.close();
}

/** A program's folder, and the command that runs its `profilectl` from source. */
export type Program = { folder: string; words: string[] };

/** Copies the program as the made-up next version 99.0.0, with one more migration. */
export function nextVersion(): Program {
  const folder = tempFolder();
  for (const part of ['cli', 'server', 'shared', 'drizzle', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const edit = (file: string, before: string | RegExp, after: string) => {
    const text = readFileSync(join(folder, file), 'utf8');
    const edited = text.replace(before, () => after);
    if (edited === text) throw new Error(`${file} has changed: adapt nextVersion().`);
    writeFileSync(join(folder, file), edited);
  };
  edit('package.json', /"version": "[^"]+"/, '"version": "99.0.0"');
  edit('shared/db/migrate.ts', '= [first];', `= [first, ${JSON.stringify(NEXT)}];`);
  return { folder, words: [process.execPath, '--no-env-file', join(folder, 'cli/main.ts')] };
}
