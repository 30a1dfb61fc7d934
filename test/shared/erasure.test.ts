import { expect, test } from 'bun:test';
import { AppError } from '../../shared/errors.ts';
import { editKey, moveAndNotify } from '../../shared/keys/life.ts';
import { issue, request } from '../support/keys.ts';
import { eraseProfile, importLines } from '../support/profiles.ts';
import { onBox, testClock, testDeps } from '../support/world.ts';

const ADA = {
  id: 7,
  username: 'Ada',
  aliases: ['lovelace'],
  authId: 'auth0|ada',
  email: 'ada@example.org',
  links: [{ id: 'l', name: 'n', link: 'https://example.org' }],
};

test('erasing a profile deletes its rows, and clears all text fields of its keys', async () => {
  const deps = testDeps({ clock: testClock() });
  await importLines(deps, [ADA]);
  const { identifier } = await issue(deps, { profile: 'Ada', name: 'Bot of Ada' });
  editKey(deps, { identifier, name: 'Robot of Ada', by: onBox('owner') });
  const other = await request(deps, { profile: 'Ada' });
  moveAndNotify(deps, 'reject', { identifier: other, reason: 'Lovelace has a bot already.', by: onBox('admin') });
  expect(eraseProfile(deps, 'LOVELACE', onBox('operator'))).toEqual({ id: 7, username: 'Ada' });
  const sqlite = deps.db.$client;
  for (const table of ['profiles', 'profile_names']) {
    expect(sqlite.query(`SELECT count(*) FROM ${table}`).values()).toEqual([[0]]);
  }
  expect(sqlite.query('SELECT identifier, state, profile_id FROM api_keys ORDER BY rowid').values()).toEqual([
    [identifier, 'revoked', null],
    [other, 'rejected', null],
  ]);
  const everything = ['api_keys', 'key_attempts', 'events'].map((table) =>
    sqlite.query(`SELECT * FROM ${table}`).all(),
  );
  expect(JSON.stringify(everything)).not.toMatch(/ada@|bot of|lovelace/i);
  const last = sqlite.query('SELECT event, by, at FROM events ORDER BY id DESC LIMIT 1').get();
  expect(last).toEqual({ event: 'erased', by: 'operator', at: deps.clock.nowMs() });
});

test('erasing a missing profile is refused as not found', () => {
  const deps = testDeps();
  for (const name of ['nobody', '', '../x', 'a\u202eb']) {
    const error = catching(() => eraseProfile(deps, name, onBox('operator')));
    expect(error).toBeInstanceOf(AppError);
    expect((error as AppError).code).toBe('not_found');
  }
});

function catching(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}
