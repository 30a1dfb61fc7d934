import { expect, test } from 'bun:test';
import { exportText, importLines } from '../../support/import.ts';
import { runCommand } from '../../support/machine/command.ts';
import { testDeps } from '../../support/world.ts';

test('profiles ban and unban change only "banned", print the profile, and can be repeated', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 7, username: 'Ada', aliases: ['lovelace'], email: 'ada@example.org' }]);
  const before = await exportText(deps);
  const run = (...words: string[]) => runCommand(['profiles', ...words, '--json', '--db', deps.config.databasePath]);
  for (const name of ['ada', 'LOVELACE']) {
    const banned = before.replace('"banned":false', '"banned":true');
    expect(await run('ban', name)).toEqual({ code: 0, stdout: banned, stderr: '' });
    expect(await exportText(deps)).toBe(banned);
  }
  expect(await run('unban', 'lovelace')).toEqual({ code: 0, stdout: before, stderr: '' });
  expect(await exportText(deps)).toBe(before);
  expect(await run('ban', 'nobody')).toMatchObject({ code: 1, stdout: '' });
});
