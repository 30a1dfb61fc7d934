import { describe, expect, test } from 'bun:test';
import { performAndSend } from '../../cli/keys/context.ts';
import type { Person } from '../../shared/actor.ts';
import { KEY_STATES, type KeyState } from '../../shared/db/schema.ts';
import { moveAndNotify } from '../../shared/keys/life.ts';
import { identifierOfSecret } from '../../shared/keys/secret.ts';
import { keyHistory, showKey } from '../../shared/keys/view.ts';
import { readLog } from '../../shared/log.ts';
import { type AnyOperation, allows } from '../../shared/operations/entry.ts';
import { ALL_OPERATIONS, DECISIONS, OPERATIONS, perform } from '../../shared/operations.ts';
import { joinWords } from '../../shared/text.ts';
import { DESCRIPTION, INPUT_SAMPLES, issue, keyIn, mails, request } from '../support/keys.ts';
import { eraseProfile, insertProfile } from '../support/profiles.ts';
import { onBox, refusal, testClock, testDeps } from '../support/world.ts';

// Who may do what with which keys, tested through `perform`, which every door calls.

const OWN = 1;
const OTHERS = 2;

const PEOPLE = {
  operator: onBox('root'),
  admin: { kind: 'admin', name: 'Grace' },
  owner: { kind: 'owner', name: 'owner', profileId: OWN },
  backend: { kind: 'backend', name: 'backend' },
} as const satisfies Record<string, Person>;

type Name = keyof typeof OPERATIONS;
type Kind = keyof typeof PEOPLE;

const LOOKS = { own: ['operator', 'admin', 'owner'], others: ['operator', 'admin'], leads: anywhere() };
const OWNERS_DO = { own: ['operator', 'owner'], others: ['operator'] };
const ADMINS_DO = { own: ['operator', 'admin'], others: ['operator', 'admin'] };

type Rule = { own: string[]; others: string[]; leads: Partial<Record<KeyState, KeyState>>; isMailed?: true };

/**
 * Who may perform each operation on their own key, and on another's, and the state to which it leads from each state that allows
 * it: what the tables say, a second time. `isMailed` if it stores a mail for the owner; an approval's goes out at once.
 */
const ALLOWED: Record<Name, Rule> = {
  request: { ...OWNERS_DO, leads: {} },
  list: LOOKS,
  show: LOOKS,
  usage: LOOKS,
  edit: { ...OWNERS_DO, leads: anywhere() },
  withdraw: { ...OWNERS_DO, leads: { pending: 'withdrawn' } },
  approve: { ...ADMINS_DO, leads: { pending: 'Active' } },
  reject: { ...ADMINS_DO, leads: { pending: 'rejected' }, isMailed: true },
  change: { ...ADMINS_DO, leads: { Active: 'Active', suspended: 'suspended' }, isMailed: true },
  suspend: { ...ADMINS_DO, leads: { Active: 'suspended' }, isMailed: true },
  resume: { ...ADMINS_DO, leads: { suspended: 'Active' }, isMailed: true },
  revoke: { ...LOOKS, leads: { Active: 'revoked', suspended: 'revoked' }, isMailed: true },
};

function anywhere(): Rule['leads'] {
  return Object.fromEntries(KEY_STATES.map((state) => [state, state]));
}

const operationNamed = (name: Name) => ALL_OPERATIONS.find((operation) => operation.name === name) as AnyOperation;

/** A database with the actor's own profile and another, and the input with which each operation succeeds on one of them. */
async function world() {
  const clock = testClock();
  const deps = { ...testDeps({ clock }), clock };
  insertProfile(deps.db, { id: OWN });
  insertProfile(deps.db, { id: OTHERS });
  const inputFor = async (name: Name, profileId: number): Promise<Record<string, unknown>> => {
    const profile = `user${profileId}`;
    if (name === 'request') return { ...INPUT_SAMPLES, profile };
    if (name === 'list') return { profile };
    const identifier = await keyIn(OPERATIONS[name].from?.[0] ?? 'pending', deps, profile);
    return { ...INPUT_SAMPLES, identifier };
  };
  const act = (name: Name, actor: Person, input: Record<string, unknown>) =>
    performAndSend({ deps, actor }, operationNamed(name), input);
  /** Everything that an operation could have changed or sent. */
  const traces = () => {
    const tables = ['api_keys', 'events', 'key_attempts', 'mails'];
    return JSON.stringify([
      ...tables.map((table) => deps.db.$client.query(`SELECT * FROM ${table}`).all()),
      mails(deps),
    ]);
  };
  return { deps, inputFor, act, traces };
}

/** The same input about a key or profile that does not exist. */
function aboutNothing(input: Record<string, unknown>): Record<string, unknown> {
  return { ...input, ...('identifier' in input ? { identifier: '00000000' } : { profile: 'nobody' }) };
}

describe('every operation, every kind of person, every key', () => {
  test('the table has exactly the operations that are tested here', () => {
    expect(Object.keys(OPERATIONS).toSorted()).toEqual(Object.keys(ALLOWED).toSorted());
    for (const [key, { name }] of Object.entries(OPERATIONS)) expect(name).toBe(key);
  });

  test('an operation that changes keys has texts, and a page beside its command', () => {
    for (const operation of ALL_OPERATIONS.filter(({ event }) => event !== null)) {
      const { name, texts, ownerPage } = operation;
      const hasPage = name === 'request' || DECISIONS.includes(operation) || ownerPage !== undefined;
      expect([name, texts.title === name, hasPage]).toEqual([name, false, true]);
    }
  });

  test('the log has an entry for each decision of an admin', async () => {
    for (const { name, event } of DECISIONS) {
      const { deps, inputFor, act } = await world();
      await act(name as Name, PEOPLE.admin, await inputFor(name as Name, OWN));
      expect(readLog(deps.db, 1).entries).toMatchObject([{ kind: `key-${event}`, by: 'admin Grace' }]);
    }
  });

  test('an operation that changes nothing does not read the operator’s name, which would start a process', async () => {
    const { inputFor, act } = await world();
    const nameless: Person = {
      kind: 'operator',
      get name(): string {
        throw new Error('The name was read.');
      },
    };
    for (const { name, event } of ALL_OPERATIONS) {
      if (event === null) await act(name as Name, nameless, await inputFor(name as Name, OWN));
    }
  });

  for (const name of Object.keys(ALLOWED) as Name[]) {
    // People of all kinds act in one world, each on keys of other profiles.
    const shared = world();
    let lastId = 2;
    for (const kind of Object.keys(PEOPLE) as Kind[]) {
      const { own, others } = ALLOWED[name];
      const isAllowedAtAll = own.includes(kind);
      test(`${name} by ${kind}: ${isAllowedAtAll ? 'own' : 'never'}${others.includes(kind) ? ' and others’' : ''}`, async () => {
        const { deps, inputFor, act, traces } = await shared;
        const [othersId, ownId] = [++lastId, ++lastId];
        const person = kind === 'owner' ? { ...PEOPLE.owner, profileId: ownId } : PEOPLE[kind];
        for (const profileId of [othersId, ownId]) {
          insertProfile(deps.db, { id: profileId });
          const input = await inputFor(name, profileId);
          const before = traces();
          const isAllowed = (profileId === ownId ? own : others).includes(kind);
          if (isAllowed) {
            await act(name, person, input);
          } else {
            const { code, message } = await refusal(act(name, person, input));
            const ofNothing = await refusal(act(name, person, aboutNothing(input)));
            // A key that the person can't see is refused like an unknown one, an operation of others whatever the key.
            expect({ code, message }).toEqual({ code: ofNothing.code, message: ofNothing.message });
            expect(code).toBe(isAllowedAtAll ? 'not_found' : 'forbidden');
            expect(traces()).toBe(before);
          }
          const missing = await refusal(act(name, person, aboutNothing(input)));
          expect(missing.code).toBe(isAllowedAtAll ? 'not_found' : 'forbidden');
        }
      });
    }
  }
});

describe('every state × every operation', () => {
  const onKeys = ALL_OPERATIONS.filter(({ name }) => name !== 'request' && name !== 'list');
  for (const state of KEY_STATES) {
    for (const operation of onKeys) {
      const { leads } = ALLOWED[operation.name as Name];
      const target = leads[state];
      test(`${state} + ${operation.name} → ${target ?? 'refused, nothing changed'}`, async () => {
        const { deps, act } = await world();
        const identifier = await keyIn(state, deps, 'user1');
        const [before, historyBefore] = [showKey(deps, identifier), keyHistory(deps, identifier)];
        const acting = act(operation.name as Name, PEOPLE.operator, { ...INPUT_SAMPLES, identifier });
        if (target === undefined) {
          const { code, message } = await refusal(acting);
          const only = `only ${joinWords(Object.keys(leads), 'and')} keys can be ${operation.event}.`;
          expect([code, message]).toEqual(['refused', `Key ${identifier} is ${state}; ${only}`]);
        } else await acting;
        const history = keyHistory(deps, identifier);
        if (target === undefined || operation.event === null) {
          expect([showKey(deps, identifier), history]).toEqual([before, historyBefore]);
        } else {
          expect(showKey(deps, identifier).state).toBe(target);
          expect(history.slice(0, historyBefore.length)).toEqual(historyBefore);
          expect(history.at(-1)?.event).toBe(operation.event);
        }
      });
    }
  }
});

describe('mails without a secret', () => {
  const changing = ALL_OPERATIONS.filter(({ event, mailsSecret }) => event !== null && !mailsSecret);
  for (const operation of changing) {
    const name = operation.name as Name;
    const { isMailed = false, own } = ALLOWED[name];
    const actor = isMailed || !own.includes('owner') ? PEOPLE.admin : PEOPLE.owner;
    test(`${name} stores them and returns their ids, but sends nothing`, async () => {
      const { deps, inputFor } = await world();
      const input = await inputFor(name, OWN);
      const stored = () => deps.db.$client.query('SELECT id FROM mails').values().flat();
      const [storedBefore, mailsBefore] = [stored(), mails(deps)];
      const mailer = () => Promise.reject(new Error('no mail is sent'));
      const outcome = await perform({ ...deps, mailer }, actor, operation, input);
      const mailIds = stored().filter((id) => !storedBefore.includes(id));
      expect(outcome).toMatchObject({ mailIds, warning: null });
      expect([mailIds.length > 0, mails(deps)]).toEqual([isMailed, mailsBefore]);
    });
  }
});

/** What an operation writes, each of which may fail. */
const WRITES = ['INSERT ON api_keys', 'UPDATE ON api_keys', 'INSERT ON events', 'INSERT ON mails'];

test.each(ALL_OPERATIONS.filter(({ event, mailsSecret }) => event !== null && !mailsSecret))(
  '$name stores all that belongs to it, or nothing',
  async ({ name }) => {
    const { deps, inputFor, act, traces } = await world();
    const { $client } = deps.db;
    const failed: string[] = [];
    for (const [at, what] of WRITES.entries()) {
      const input = await inputFor(name as Name, insertProfile(deps.db, { id: 10 + at }));
      const before = traces();
      $client.run(`CREATE TEMP TRIGGER broken BEFORE ${what} BEGIN SELECT RAISE(ABORT, 'broken'); END`);
      const isDone = await act(name as Name, PEOPLE.operator, input).then(
        () => true,
        () => false,
      );
      $client.run('DROP TRIGGER broken');
      if (isDone) continue;
      failed.push(what);
      expect([what, traces()]).toEqual([what, before]);
    }
    expect(failed).toContain('INSERT ON events');
    expect(failed.some((what) => what.endsWith('ON api_keys'))).toBe(true);
    expect(failed.includes('INSERT ON mails')).toBe(ALLOWED[name as Name].isMailed === true);
  },
);

describe('an owner', () => {
  test('lists only their own keys, with or without filters, and sees the last uses of these only', async () => {
    const { deps, act } = await world();
    const own = await request(deps, { profile: 'user1' });
    const { identifier: other } = await issue(deps, { profile: 'user2' });
    deps.db.$client.run(
      `INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
         VALUES (?, ?, 1, 0, 0, 0, 0, 0, 1)`,
      [other, Math.floor(deps.clock.nowMs() / 86_400_000)],
    );
    for (const input of [{}, { profile: 'user1' }, { states: ['pending', 'Active'] }]) {
      const { keys, lastUses } = (await act('list', PEOPLE.owner, input)) as {
        keys: { identifier: string }[];
        lastUses: Map<string, number>;
      };
      expect(keys.map(({ identifier }) => identifier)).toEqual([own]);
      expect(lastUses.size).toBe(0);
    }
  });

  test('requests a key for their own profile, even if another one takes its name in between', async () => {
    const { deps } = await world();
    const { act } = OPERATIONS.request;
    const fields = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
    // The check has been passed with a name that now belongs to the other profile.
    const { identifier } = await act(deps, PEOPLE.owner, { ...fields, profile: 'user2' });
    expect(showKey(deps, identifier).profile).toBe('user1');
  });

  test('of a banned profile can only view, withdraw and revoke keys', async () => {
    const { deps, inputFor, act } = await world();
    const inputs = new Map<Name, Record<string, unknown>>();
    for (const name of ['withdraw', 'revoke', 'show', 'list', 'usage'] as const) {
      inputs.set(name, await inputFor(name, OWN));
      if (name === 'show')
        moveAndNotify(deps, 'withdraw', { identifier: inputs.get(name)?.identifier as string, by: onBox('root') });
    }
    inputs.set('edit', inputs.get('show') as Record<string, unknown>);
    inputs.set('request', await inputFor('request', OWN));
    deps.db.$client.run("UPDATE profiles SET profile = json_set(profile, '$.banned', json('true')) WHERE id = ?", [
      OWN,
    ]);
    for (const name of ['request', 'edit'] as const) {
      const error = await refusal(act(name, PEOPLE.owner, inputs.get(name) as Record<string, unknown>));
      expect([error.code, error.message]).toEqual(['refused', expect.stringContaining('banned')]);
    }
    for (const name of ['show', 'list', 'usage', 'withdraw', 'revoke'] as const) {
      await act(name, PEOPLE.owner, inputs.get(name) as Record<string, unknown>);
    }
  });

  test('can revoke without a reason, and gets no mail about what they did; the operator and admins need one', async () => {
    const { deps, act } = await world();
    for (const without of [{}, { reason: null }, { reason: '' }]) {
      const { identifier } = await issue(deps, { profile: 'user1' });
      for (const person of [PEOPLE.operator, PEOPLE.admin])
        expect((await refusal(act('revoke', person, { identifier, ...without }))).code).toBe('usage');
      await act('revoke', PEOPLE.owner, { identifier, ...without });
      expect(keyHistory(deps, identifier).at(-1)).toMatchObject({ event: 'revoked', by: 'owner', detail: null });
      expect(deps.db.$client.query('SELECT 1 FROM mails').all()).toEqual([]);
    }
  });

  test('no longer sees the keys of an erased profile', async () => {
    const { deps, act } = await world();
    const identifier = await request(deps, { profile: 'user1' });
    moveAndNotify(deps, 'withdraw', { identifier, by: onBox('root') });
    deps.db.$client.run('DELETE FROM profiles WHERE id = ?', [OWN]);
    expect((await refusal(act('show', PEOPLE.owner, { identifier }))).code).toBe('not_found');
    await act('show', PEOPLE.operator, { identifier });
  });
});

test('nothing changes a key that was erased with its profile, which doors know before they ask', async () => {
  for (const operation of ALL_OPERATIONS.filter(({ name, event }) => event !== null && name !== 'request')) {
    const { deps, inputFor, act } = await world();
    const input = await inputFor(operation.name as Name, OWN);
    const identifier = String(input.identifier);
    eraseProfile(deps, 'user1', PEOPLE.operator);
    const key = showKey(deps, identifier);
    expect([operation.name, allows(operation, key)]).toEqual([operation.name, false]);
    expect((await refusal(async () => operation.check(deps, key))).code).toBe('refused');
    expect((await refusal(act(operation.name as Name, PEOPLE.operator, input))).code).toBe('refused');
  }
});

test('a key with an older identifier, whose characters new ones avoid, can be shown, approved and verified', async () => {
  const { deps, act } = await world();
  const identifier = '0O1Il0O1';
  await request(deps, { profile: 'user1' });
  const copied = 'profile_id, name, description, state, requested_permissions, requested_at';
  deps.db.$client.run(`INSERT INTO api_keys (identifier, ${copied}) SELECT ?, ${copied} FROM api_keys`, [identifier]);
  await act('approve', PEOPLE.admin, { identifier });
  expect(showKey(deps, identifier).state).toBe('Active');
  const [secret = ''] = /plk_0O1Il0O1_[0-9A-Za-z]{38}/.exec(mails(deps).at(-1) ?? '') ?? [];
  expect(identifierOfSecret(secret)).toBe(identifier);
});

test('a history names who acted to the operator and admins, and only says their role to owners', async () => {
  const { deps, act } = await world();
  const { identifier } = (await act('request', PEOPLE.owner, {
    profile: 'user1',
    name: 'Bot',
    description: DESCRIPTION,
    permissions: ['api.lookup'],
  })) as { identifier: string };
  await act('edit', PEOPLE.operator, { identifier, name: 'Other' });
  await act('approve', PEOPLE.admin, { identifier, expiresAtMs: deps.clock.nowMs() + 86_400_000 });
  const seenBy = async (person: Person) => {
    const shown = await act('show', person, { identifier });
    const { key, history } = shown as { key: { attempt: { by: string } }; history: { by: string }[] };
    return [...history.map(({ by }) => by), key.attempt.by];
  };
  const named = ['owner', 'root (on the box)', 'admin Grace', 'admin Grace', 'admin Grace'];
  expect(await seenBy(PEOPLE.operator)).toEqual(named);
  expect(await seenBy(PEOPLE.admin)).toEqual(named);
  expect(await seenBy(PEOPLE.owner)).toEqual(['you', 'the operator', 'an admin', 'an admin', 'an admin']);
});

describe('an invalid input is refused with a sentence for those who may perform the operation, and nothing changes', () => {
  const wrong: [Name, Record<string, unknown>, string][] = [
    ['request', { profile: undefined }, 'The profile is missing.'],
    ['request', { name: '' }, 'Enter a name.'],
    ['request', { projectUrl: 'ftp://x' }, 'The project URL must be an http or https URL of at most 2048 characters.'],
    ['list', { states: ['active'] }, 'A state must be one of pending, Active'],
    ['usage', { days: 401 }, 'The number of days must be a whole number from 1 to 400.'],
    ['show', { identifier: null }, 'The identifier is missing.'],
    ['edit', { name: undefined }, 'The name is missing.'],
    ['approve', { rateLimits: [] }, 'A key has one to four rate limits.'],
    ['approve', { expiresAtMs: Number.MAX_SAFE_INTEGER }, 'The expiry must be a duration'],
    ['list', { limit: 0 }, 'The limit must be a whole number from 1 to 1000.'],
    ['list', { limit: 1.5 }, 'The limit must be a whole number from 1 to 1000.'],
    ['list', { after: 'k7Qm2Xa' }, 'The cursor must be the identifier of a key or come from'],
    ['approve', { permissions: ['api.write'] }, 'The only permissions are api.lookup and api.leaderboard'],
    ['approve', { retireOldAtMs: -1 }, 'The expiry of the old key must be a duration'],
    ['approve', { retireOldAtMs: 4_102_444_800_000 }, 'Key '],
    [
      'change',
      { rateLimits: null, permissions: null },
      'Specify what to change: the permissions, the rate limits or the expiry.',
    ],
    ['change', { rateLimits: [] }, 'A key has one to four rate limits.'],
    ['change', { permissions: [] }, 'Select at least one permission'],
    ['change', { expiresAtMs: 1 }, 'The expiry must be in the future.'],
    ['reject', { reason: undefined }, 'The reason is missing.'],
  ];
  for (const [name, changes, sentence] of wrong) {
    test(`${name}: ${JSON.stringify(changes)}`, async () => {
      const { inputFor, act, traces } = await world();
      const input = { ...(await inputFor(name, OWN)), ...changes };
      const before = traces();
      for (const person of ALLOWED[name].own.map((kind) => PEOPLE[kind as Kind])) {
        const error = await refusal(act(name, person, input));
        expect([error.code, error.message.slice(0, sentence.length)]).toEqual(['usage', sentence]);
      }
      for (const kind of (Object.keys(PEOPLE) as Kind[]).filter((one) => !ALLOWED[name].own.includes(one)))
        expect([kind, (await refusal(act(name, PEOPLE[kind], input))).code]).toEqual([kind, 'forbidden']);
      if (typeof input.identifier === 'string' && ALLOWED[name].own.includes('owner'))
        expect((await refusal(act(name, { ...PEOPLE.owner, profileId: OTHERS }, input))).code).toBe('not_found');
      expect(traces()).toBe(before);
    });
  }
});
