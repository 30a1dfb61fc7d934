import { beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import { KEY, openTerminal } from '../../support/commands.ts';
import { keyIn, mails } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

// The commands use the system clock.
const clock = testClock(Date.now());
const deps = { ...testDeps({ clock }), clock };
const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };
let nextId = 1;
let profile = '';

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

// All decisions with a reason are made from the table.
describe('keys suspend', () => {
  const {
    name: verb,
    from,
    event,
    texts,
  } = DECISIONS.find(({ name }) => name === 'suspend') as (typeof DECISIONS)[number];
  const [before = 'pending'] = from ?? [];
  const after = 'suspended';
  const question = texts.title;
  const keyFor = (state = before) => keyIn(state, deps, profile);

  test('on a terminal shows the key, asks for the reason, and does nothing before a yes', async () => {
    const identifier = await keyFor();
    const terminal = openTerminal(['keys', verb, identifier], variables);
    await terminal.see(`Profile         ${profile}`);
    await terminal.see(/Reason .*:/);
    terminal.type(`Found in public.${KEY.enter}`);
    await terminal.see(question);
    expect(showKey(deps, identifier).state).toBe(before);
    terminal.type(`y${KEY.enter}`);
    await terminal.see(`${identifier} ${after}`);
    expect(await terminal.exited).toBe(0);
    expect(keyHistory(deps, identifier).at(-1)?.detail).toEqual({ reason: 'Found in public.' });
    expect(mails(deps).at(-1)).toContain('Found in public.');
  });

  test('with --yes needs --reason', async () => {
    const terminal = openTerminal(['keys', verb, await keyFor(), '--yes'], variables);
    expect(await terminal.exited).toBe(2);
    expect(terminal.screen()).toContain('--reason is missing');
  });

  test('fails before the first question if the key is in another state', async () => {
    const identifier = await keyFor(KEY_STATES.find((state) => !from?.includes(state)));
    const terminal = openTerminal(['keys', verb, identifier], variables);
    expect(await terminal.exited).toBe(1);
    expect(terminal.screen()).toContain(`only ${from?.join(' and ')} keys can be ${event}`);
    expect(terminal.screen()).not.toContain('Reason');
  });
});
