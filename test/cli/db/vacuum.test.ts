import { expect, test } from 'bun:test';
import { systemClock } from '../../../shared/clock.ts';
import { eraseProfile, insertProfile } from '../../support/profiles.ts';
import { onBox, testDeps } from '../../support/world.ts';
import { runCommand } from '../commands.ts';

test('db vacuum reports sizes and duration, and status says whether one is wanted', async () => {
  const deps = testDeps({ clock: systemClock });
  for (const id of [1, 2]) insertProfile(deps.db, { id });
  const run = (...words: string[]) => runCommand([...words, '--db', deps.config.databasePath]);
  const erased = async () => /^Erased text +(.*)$/m.exec((await run('status', '--all')).stdout)?.[1];
  expect(await erased()).toBe('none in the file');
  eraseProfile(deps, 'user2', onBox('operator'));
  expect(await erased()).toBe('removed from the file by the next nightly VACUUM');
  expect(await run('db', 'vacuum')).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Vacuumed from .+ to .+ in \d+\.\d s; no erased text is left in the file\.\n$/),
    stderr: '',
  });
  expect(await erased()).toBe('none in the file');
  expect(JSON.parse((await run('db', 'vacuum', '--json')).stdout)).toEqual({
    milliseconds: expect.any(Number),
    bytesBefore: expect.any(Number),
    bytesAfter: expect.any(Number),
  });
});
