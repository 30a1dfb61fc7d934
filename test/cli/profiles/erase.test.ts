import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { KEY, openTerminal, runCommand } from '../../support/commands.ts';
import { jsonLines } from '../../support/profiles.ts';
import { tempFolder } from '../../support/world.ts';

async function world(): Promise<string> {
  const db = join(tempFolder(), 'profiles.db');
  const stdin = jsonLines({ id: 7, username: 'Ada', aliases: ['lovelace'] }, { id: 8, username: 'bob' });
  await runCommand(['profiles', 'import', '-', '--db', db], { stdin });
  return db;
}

async function left(db: string): Promise<number> {
  return (await runCommand(['profiles', 'export', '--db', db])).stdout.split('\n').length - 1;
}

test('on a terminal one question names the profile, and any answer but yes changes nothing', async () => {
  const db = await world();
  for (const keys of [KEY.enter, `n${KEY.enter}`, KEY.ctrlC, KEY.ctrlD]) {
    const terminal = openTerminal(['profiles', 'erase', 'lovelace', '--db', db]);
    await terminal.see('Erase the profile Ada (id 7)');
    terminal.type(keys);
    expect(await terminal.exited).toBe(130);
  }
  expect(await left(db)).toBe(2);
  const terminal = openTerminal(['profiles', 'erase', 'lovelace', '--db', db]);
  await terminal.see('Erase the profile Ada (id 7)');
  terminal.type(`y${KEY.enter}`);
  await terminal.see('Erased Ada (id 7).');
  expect(await terminal.exited).toBe(0);
  expect(await left(db)).toBe(1);
});
