import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openFile } from '../../../shared/db/connect.ts';
import { migrate } from '../../../shared/db/migrate.ts';
import { MIGRATIONS } from '../../../shared/db/migrations.ts';
import { PROJECT } from '../cli.ts';
import { tempFolder } from '../world.ts';

/** Makes a database of an earlier schema: only the first so many migrations; `fill` puts something in. */
export function makeOlderDatabase(path: string, applied = MIGRATIONS.length - 1, fill: readonly string[] = []): void {
  const sqlite = openFile(path, 1000);
  migrate(sqlite, path, MIGRATIONS.slice(0, applied));
  for (const statement of fill) sqlite.run(statement);
  sqlite.close();
}

/**
 * Copies the program into a new folder as its next version, with one migration more. Returns the words that start its
 * `profilectl`: what a server that runs finds in place of its own program after an upgrade.
 */
export function nextVersion(): string[] {
  const folder = tempFolder();
  for (const part of ['cli', 'server', 'shared', 'drizzle', 'package.json', 'tsconfig.json']) {
    cpSync(join(PROJECT, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  const edit = (file: string, before: string | RegExp, after: string) => {
    const text = readFileSync(join(folder, file), 'utf8');
    if (text.replace(before, after) === text) throw new Error(`${file} is not as this test knows it.`);
    writeFileSync(join(folder, file), text.replace(before, after));
  };
  edit('package.json', /"version": "[^"]+"/, '"version": "99.0.0"');
  edit(
    'shared/db/migrations.ts',
    /\n\];\n$/,
    "\n  { name: '9999_next', sql: 'CREATE TABLE next (id INTEGER) STRICT' },\n];\n",
  );
  return [process.execPath, '--no-env-file', join(folder, 'cli/main.ts')];
}
