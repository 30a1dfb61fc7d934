import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { DESCRIPTION, issue, keysListed, mails, request } from '../../support/keys.ts';
import { importLines } from '../../support/profiles.ts';
import { onBox, testDeps } from '../../support/world.ts';
import { KEY, openTerminal, type Terminal } from '../commands.ts';

// Commands do only what they have shown, even if another person changes the key or profile before a question is answered.

const ADA = { id: 7, username: 'ada', email: 'owner@good.example' };

/** A database with Ada's profile, and `profilectl` in a terminal. */
async function world() {
  const deps = testDeps();
  await importLines(deps, [ADA]);
  const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
  const secrets = () => mails(deps).filter((mail) => /plk_\w{8}_/.test(mail));
  return { deps, secrets, open: (...words: string[]) => openTerminal(words, variables) };
}

const MOVED = { ...ADA, email: 'thief@evil.example' };
const GRANT = ['--permission', 'api.lookup', '--rate-limit', '60/1m', '--expires', 'never'];

/** The output of a terminal, on one line. */
const plain = (terminal: Terminal) => terminal.screen().replace(/\s+/g, ' ');

describe('keys approve', () => {
  test('sends nothing to an e-mail address that the question did not show, and asks again with the new one', async () => {
    const { deps, secrets, open } = await world();
    const identifier = await request(deps, { profile: 'ada' });
    const terminal = open('keys', 'approve', identifier, ...GRANT);
    await terminal.see(/The secret is mailed to +owner@good\.example/);
    await terminal.see(/Approve key \w{8}\?/);
    await importLines(deps, [MOVED]);
    terminal.type(`y${KEY.enter}`);
    await terminal.see('has changed since you opened it');
    await terminal.see(/The secret is mailed to +thief@evil\.example/);
    await terminal.see(/Approve key \w{8}\?/);
    expect([showKey(deps, identifier).attempt, secrets()]).toEqual([null, []]);
    expect(plain(terminal)).toContain(`Key ${identifier} has changed since you opened it. Nothing was done.`);
    terminal.type(`y${KEY.enter}`);
    expect(await terminal.exited).toBe(0);
    expect([showKey(deps, identifier).state, secrets().length]).toEqual(['Active', 1]);
    expect(secrets()[0]).toContain('To: thief@evil.example');
  });

  test('fails if another admin has decided before the answer, and says how', async () => {
    const { deps, secrets, open } = await world();
    const identifier = await request(deps, { profile: 'ada' });
    const terminal = open('keys', 'approve', identifier, ...GRANT);
    await terminal.see(/Approve key \w{8}\?/);
    await perform(deps, onBox('other'), OPERATIONS.reject, { identifier, reason: 'No.' });
    terminal.type(`y${KEY.enter}`);
    expect(await terminal.exited).toBe(1);
    expect(plain(terminal)).toContain(`Key ${identifier} has changed since you opened it. Nothing was done.`);
    expect(plain(terminal)).toContain(`Key ${identifier} is rejected; only pending keys can be approved.`);
    expect(secrets()).toEqual([]);
  });
});

test('Enter in keys change keeps the value, and never reverts what another person has changed', async () => {
  const { deps, open } = await world();
  const { identifier } = await issue(deps, { profile: 'ada' });
  const rateLimits = [{ quota: 1, windowSeconds: 60 }];
  const terminal = open('keys', 'change', identifier);
  const keepLimits = async (limits: string) => {
    await terminal.answer('Permissions', KEY.enter);
    await terminal.answer(new RegExp(`Rate limits .*${limits}`), KEY.enter);
    await terminal.answer(/Expires .*never/, `2126-01-31${KEY.enter}`);
    await terminal.see(
      new RegExp(`Rate limits +${limits.replace(' ', ', ')}\\s+Expires +2126-01-31[\\s\\S]+Change key`),
    );
  };
  await keepLimits('60/1m 5000/1d');
  await perform(deps, onBox('other'), OPERATIONS.change, { identifier, rateLimits });
  terminal.type(`y${KEY.enter}`);
  await terminal.see('has changed since you opened it');
  expect(showKey(deps, identifier)).toMatchObject({ rateLimits, expiresAt: null });
  await keepLimits('1/1m');
  terminal.type(`y${KEY.enter}`);
  expect(await terminal.exited).toBe(0);
  expect(showKey(deps, identifier)).toMatchObject({ rateLimits, expiresAt: '2126-01-31T00:00:00.000Z' });
  const [, mine] = keyHistory(deps, identifier).filter(({ event }) => event === 'changed');
  expect(Object.keys(mine?.detail?.changes ?? {})).toEqual(['expiresAt']);
});

test('if all values are kept, keys change says so and changes nothing', async () => {
  const { deps, open } = await world();
  const { identifier } = await issue(deps, { profile: 'ada' });
  const terminal = open('keys', 'change', identifier);
  for (const question of ['Permissions', 'Rate limits', 'Expires']) await terminal.answer(question, KEY.enter);
  await terminal.answer(/Change key \w{8}\?/, `y${KEY.enter}`);
  await terminal.see('nothing was changed');
  await terminal.see(`${identifier} Active`);
  expect(await terminal.exited).toBe(0);
  expect(keyHistory(deps, identifier).map(({ event }) => event)).not.toContain('changed');
});

test('keys reject keeps a typed reason if the request has changed, and rejects only after another yes', async () => {
  const { deps, open } = await world();
  const identifier = await request(deps, { profile: 'ada' });
  const terminal = open('keys', 'reject', identifier);
  await terminal.answer('Reason', `Too vague.${KEY.enter}`);
  await terminal.see('Reject the request for key');
  await perform(deps, onBox('other'), OPERATIONS.edit, { identifier, name: 'Clearer' });
  terminal.type(`y${KEY.enter}`);
  await terminal.see('has changed since you opened it');
  await terminal.see('Clearer');
  await terminal.see('Reject the request for key');
  expect(showKey(deps, identifier).state).toBe('pending');
  terminal.type(`y${KEY.enter}`);
  expect(await terminal.exited).toBe(0);
  expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ event: 'rejected', detail: { reason: 'Too vague.' } });
});

describe('keys request', () => {
  /** Answers all questions before the final one. */
  async function fillIn(terminal: Terminal): Promise<void> {
    await terminal.answer('Name of the key', `Bot${KEY.enter}`);
    await terminal.answer('Permissions', KEY.enter);
    await terminal.answer('Project URL', KEY.enter);
    await terminal.answer('Expected usage', KEY.enter);
    await terminal.see('Send this request?');
  }

  test('uses the profile that was named, even if another profile gets its name', async () => {
    const { deps, open } = await world();
    const terminal = open('keys', 'request', '--profile', 'ada', '--description', DESCRIPTION);
    await terminal.see('Name of the key');
    await importLines(deps, [
      { ...ADA, username: 'countess' },
      { id: 8, username: 'ada', email: 'other@example.org' },
    ]);
    await fillIn(terminal);
    expect(plain(terminal)).toContain('Profile countess');
    terminal.type(KEY.enter);
    expect(await terminal.exited).toBe(0);
    expect(keysListed(deps)).toMatchObject([{ name: 'Bot', profile: 'countess' }]);
  });

  test('shows the request again if the profile was renamed', async () => {
    const { deps, open } = await world();
    const terminal = open('keys', 'request', '--profile', 'ada', '--description', DESCRIPTION);
    await fillIn(terminal);
    await importLines(deps, [{ ...ADA, username: 'countess' }]);
    terminal.type(KEY.enter);
    await terminal.see('The profile with the UID 7 has changed since you opened it.');
    await terminal.see(/Profile +countess/);
    await terminal.see('Send this request?');
    expect(keysListed(deps)).toEqual([]);
    terminal.type(KEY.enter);
    expect(await terminal.exited).toBe(0);
    expect(keysListed(deps)).toHaveLength(1);
  });
});
