import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { flagName } from '../../../cli/keys/inputs.ts';
import { factsOf, typedText } from '../../../shared/keys/inputs.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { type AnyOperation, flaggedInputs } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';
import { DESCRIPTION, issue, keyIn, keysListed, request } from '../../support/keys.ts';
import { changeByHand, importLines } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { KEY, openTerminal } from '../commands.ts';

// On a terminal everything is shown and confirmed, even if no values are missing. With --yes nothing is asked.

const clock = testClock();
const deps = { ...testDeps({ clock }), clock };
const variables = { DATABASE_PATH: deps.config.databasePath, MAIL_URL: `file:${join(deps.folder, 'mail')}` };

let profiles = 0;

async function newProfile(): Promise<string> {
  const id = ++profiles;
  await importLines(deps, [{ id, username: `user${id}`, email: `user${id}@example.org` }]);
  return `user${id}`;
}

/** A key on which an operation is possible. A request is for a successor, so that every flag applies to it. */
async function keyFor({ from }: AnyOperation): Promise<string> {
  const profile = await newProfile();
  if (from !== null && !from.includes('pending')) return keyIn(from[0] ?? 'Active', deps, profile);
  return request(deps, { profile, successorOf: (await issue(deps, { profile })).identifier });
}

/** A value of a field of each kind. */
const VALUES = {
  line: 'One',
  lines: 'It is not needed.',
  url: 'https://example.org/one',
  permissions: ['api.lookup'],
  'rate limits': [{ quota: 60, windowSeconds: 60 }],
  time: Date.parse('2126-01-31T00:00:00Z'),
  number: 1,
  states: ['pending'],
  hidden: 'one',
};

/** Every flag of an operation, with a value. */
function flagsOf(operation: AnyOperation): string[] {
  return flaggedInputs(operation).flatMap(([, schema]) => {
    const { kind } = factsOf(schema);
    return [flagName(schema), ...typedText(kind, VALUES[kind])];
  });
}

// All are made from the table.
const SOME = ALL_OPERATIONS.filter(({ name }) => ['approve', 'change', 'withdraw'].includes(name));

test.each(SOME.map((operation) => [operation.name, operation] as const))(
  'keys %s shows the key and the given values, and does nothing if declined',
  async (_, operation) => {
    const identifier = await keyFor(operation);
    const words = ['keys', operation.name, identifier, ...flagsOf(operation)];
    const before = showKey(deps, identifier);
    const terminal = openTerminal(words, variables);
    await terminal.see(new RegExp(`Identifier +${identifier}`));
    for (const [, schema] of flaggedInputs(operation)) await terminal.see(factsOf(schema).title);
    await terminal.answer(`${operation.texts.title} ${identifier}?`, `n${KEY.enter}`);
    expect(await terminal.exited).toBe(130);
    expect(showKey(deps, identifier)).toEqual(before);
    const done = openTerminal([...words, '--yes'], variables);
    expect(await done.exited).toBe(0);
    expect(done.screen()).not.toContain(`${operation.texts.title} ${identifier}?`);
    expect(showKey(deps, identifier)).not.toEqual(before);
  },
  30_000,
);

test('keys approve asks again, with what was typed, after a No to the last question', async () => {
  const identifier = await request(deps, { profile: await newProfile() });
  const terminal = openTerminal(['keys', 'approve', identifier, '--permission', 'api.lookup'], variables);
  await terminal.answer('Rate limits', `${KEY.ctrlU}7/1h${KEY.enter}`);
  await terminal.answer('Expires', KEY.enter);
  await terminal.answer(/Rate limits +7\/1h[\s\S]+\?/, `n${KEY.enter}`);
  await terminal.see('Change what you typed');
  await terminal.answer(/Rate limits .*7\/1h/, KEY.enter);
  await terminal.answer(/Expires .*never/, KEY.enter);
  await terminal.answer(/Approve .*\?/, `y${KEY.enter}`);
  expect(await terminal.exited).toBe(0);
  expect(showKey(deps, identifier)).toMatchObject({
    state: 'Active',
    rateLimits: [{ quota: 7, windowSeconds: 3_600 }],
  });
});

test('keys request with all required flags asks for nothing else, and shows the request, and sends nothing if it is cancelled', async () => {
  const profile = await newProfile();
  const flags = ['--name', 'Bot', '--permission', 'api.lookup', '--description', DESCRIPTION];
  const terminal = openTerminal(['keys', 'request', '--profile', profile, ...flags], variables);
  await terminal.see(new RegExp(`Profile +${profile}`));
  await terminal.see(/Project URL +–/);
  await terminal.see('Send this request?');
  expect(terminal.screen()).not.toContain('Optional');
  terminal.type(KEY.ctrlC);
  expect(await terminal.exited).toBe(130);
  expect(keysListed(deps, { profile })).toEqual([]);
});

test('keys resume says that the key stays refused while its profile is banned', async () => {
  const profile = await newProfile();
  const identifier = await keyIn('suspended', deps, profile);
  changeByHand(deps, profile, { banned: true });
  const terminal = openTerminal(['keys', 'resume', identifier], variables);
  await terminal.see('suspended (refused: its profile is banned)');
  await terminal.see('the key is refused until the ban is lifted');
  await terminal.see('unless the profile is banned');
  await terminal.answer(/Resume key \w{8}\?/, `y${KEY.enter}`);
  expect(await terminal.exited).toBe(0);
});

test('a request for a successor is shown before it is sent, and its approval asks when the old key expires', async () => {
  const profile = await newProfile();
  const fields = { profile, projectUrl: 'https://example.org', description: `${DESCRIPTION}\nIn two lines.` };
  const { identifier } = await issue(deps, fields);
  const asking = openTerminal(['keys', 'request', '--successor-of', identifier], variables);
  await asking.see(new RegExp(`Successor of +${identifier}`));
  await asking.see('In two lines.');
  await asking.see('https://example.org');
  await asking.see('Send this request?');
  expect(keysListed(deps, { profile })).toHaveLength(1);
  asking.type(KEY.enter);
  await asking.see('pending');
  expect(await asking.exited).toBe(0);
  const successor = /(\w{8}) pending/.exec(asking.screen())?.[1] ?? '';
  const granted = ['--permission', 'api.lookup', '--rate-limit', '7/1m', '--expires', 'never'];
  const terminal = openTerminal(['keys', 'approve', successor, ...granted], variables);
  await terminal.answer('When the old key expires', `2126-01-31${KEY.enter}`);
  await terminal.answer(/Expires +never\s+When the old key expires +2126-01-31/, `y${KEY.enter}`);
  expect(await terminal.exited).toBe(0);
  expect(showKey(deps, successor).state).toBe('Active');
  expect(showKey(deps, identifier).expiresAt).toBe('2126-01-31T00:00:00.000Z');
});
