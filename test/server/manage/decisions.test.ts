import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import { settleBackground } from '../../../server/developers/background.ts';
import { inviteAdmin, removeAdmin } from '../../../shared/access/admins.ts';
import { MOST_WAITING } from '../../../shared/access/cli-decisions.ts';
import { endPersonToken } from '../../../shared/access/person-tokens.ts';
import type { Signed } from '../../../shared/access/session-row.ts';
import { adminToSign, ownerToSign } from '../../../shared/access/sessions.ts';
import { sweepSessions } from '../../../shared/access/sweep.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { onBox } from '../../support/actors.ts';
import {
  adminWorld,
  askToDecide,
  decideAs,
  hiddenIn,
  type SignedInAdmin,
  signInAdmin,
  textOf,
  withPasskey,
} from '../../support/admin-pages.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { issue, mailedSecrets, request } from '../../support/keys.ts';
import { call, expectRefused, personTokenFor } from '../../support/manage.ts';
import { serverOfPages, signInOwner, valuesOf, visit } from '../../support/pages.ts';

// Decisions that an admin's token asks for: it takes none, the admin lets exactly one through in the browser, and it is
// carried out once.

const ORIGIN = 'http://localhost:3000';
const world = await adminWorld();
const { access, clock } = world;
const server = await serverOfPages(world);
await importLines(access, [{ id: 8, username: 'bea', email: 'bea@example.org' }]);

const grace = signInAdmin(world, 'Grace');
const hopper = signInAdmin(world, 'Hopper');
const tokenOf = (name: string) => personTokenFor(access, adminToSign(access, name) as Signed, 'lap<b>top');
const [gracesToken, hoppersToken] = [tokenOf('Grace'), tokenOf('Hopper')];

type Decision = [operation: string, body: Record<string, unknown>];

/** Asks for a decision. */
const ask = (identifier: string, [operation, body]: Decision, token = gracesToken) =>
  call(server, `/manage/v1/keys/${identifier}/${operation}`, token, { body });

/** That a decision has to be let through; returns the path of its page. */
async function pathIn(answer: Response): Promise<string> {
  const { error, address } = (await answer.json()) as { error: string; address: string };
  expect([answer.status, answer.headers.get('x-error-code')]).toEqual([403, 'decision_needed']);
  expect(error).toContain('passkey');
  expect(address).toMatch(/^http:\/\/localhost:3000\/developers\/cli\/decisions\/[0-9A-Za-z]{8}$/);
  return address.slice(ORIGIN.length);
}

const open = (path: string, { cookie }: Pick<SignedInAdmin, 'cookie'> = grace) => visit(world, path, { cookie });

/** Lets the decision at this path through, in an admin's browser. */
async function letThrough(path: string, admin = grace) {
  const page = await visit(world, path, { cookie: admin.cookie, form: {} });
  const form = withPasskey(page, admin.authenticator);
  return visit(world, path, { cookie: admin.cookie, form });
}

/** Asks, and lets it through. */
async function confirmed(identifier: string, decision: Decision): Promise<string> {
  const path = await pathIn(await ask(identifier, decision));
  expect((await letThrough(path)).status).toBe(303);
  return path;
}

let profiles = 100;

/** A new profile with a key that an operation can be done with. */
async function keyFor(operation: string): Promise<string> {
  const profile = `owner${++profiles}`;
  await importLines(access, [{ id: profiles, username: profile, email: `${profile}@example.org` }]);
  if (operation === 'approve' || operation === 'reject') return request(access, { profile });
  return (await issue(access, { profile })).identifier;
}

const LIMITS = [{ quota: 7, windowSeconds: 60 }];
const GRANT = { permissions: ['api.lookup'], rateLimits: LIMITS, expiresAt: '2026-12-31T00:00:00Z' };
const DECISIONS: Record<string, Decision> = {
  approve: ['approve', GRANT],
  reject: ['reject', { reason: 'No.' }],
  change: ['change', GRANT],
  revoke: ['revoke', { reason: 'Leaked.' }],
};
const OPERATIONS = Object.keys(DECISIONS);

/** Everything that a decision could have changed. */
const traces = () =>
  JSON.stringify(
    ['api_keys', 'key_events', 'key_attempts', 'notices'].map((table) =>
      access.db.$client.query(`SELECT * FROM ${table}`).all(),
    ),
  );

/** The rows of the sessions file that decisions write. */
const decisionRows = () => JSON.stringify(access.sessions.sqlite.query('SELECT * FROM cli_decisions').all());

// Passkeys are asked for at most 30 times a minute.
beforeEach(() => clock.advance(61_000));

describe('a decision is shown as it will be, let through, and carried out by the same request', () => {
  const WORDS: Record<string, string[]> = {
    approve: ['Approve key', 'api.lookup', '7/1m', '2026-12-31 00:00 UTC', '@example.org'],
    reject: ['Reject the request of key', 'No.'],
    change: ['Change key', 'api.lookup', '7/1m', '2026-12-31 00:00 UTC'],
    revoke: ['Revoke key', 'Leaked.'],
  };
  for (const operation of OPERATIONS) {
    test(operation, async () => {
      const identifier = await keyFor(operation);
      const decision = DECISIONS[operation] as Decision;
      const before = traces();
      const path = await pathIn(await ask(identifier, decision));
      const rows = decisionRows();
      // Asking again, and looking at the page, writes nothing.
      expect(await pathIn(await ask(identifier, decision))).toBe(path);
      const page = await open(path);
      expect(page.status).toBe(200);
      expect(decisionRows()).toBe(rows);
      const words = [...(WORDS[operation] as string[]), 'profilectl on the machine lap<b>top (from 127.0.0.1)'];
      for (const part of words) expect(textOf(page)).toContain(part);
      expect(page.body).not.toContain('<b>top');
      expect(traces()).toBe(before);
      const done = await letThrough(path);
      expect([done.status, valuesOf(done, 'location')]).toEqual([303, [path]]);
      expect(textOf(await open(path))).toContain('You have let this through. Go back');
      expect(traces()).toBe(before);
      const answer = await ask(identifier, decision);
      const key = (await answer.json()) as { identifier: string; state: string };
      expect([answer.status, key.identifier]).toEqual([202, identifier]);
      await settleBackground(world.pages.background);
      const shown = showKey(access, identifier);
      expect(shown.state).toBe(
        { approve: 'Active', reject: 'rejected', change: 'Active', revoke: 'revoked' }[operation] as 'Active',
      );
      if (operation === 'approve') {
        expect(key.state).toBe('pending');
        expect(mailedSecrets(access, identifier).length).toBe(1);
      }
      if (operation === 'approve' || operation === 'change') {
        expect(shown).toMatchObject({ rateLimits: LIMITS, expiresAt: '2026-12-31T00:00:00.000Z' });
      }
      expect(keyHistory(access, identifier).at(-1)?.by).toBe('admin Grace');
      expect(textOf(await open(path))).toContain('and it was carried out');
      // Once: the same again is another decision, or none that is possible any more.
      const after = traces();
      expect([403, 409]).toContain((await ask(identifier, decision)).status);
      expect(traces()).toBe(after);
    });
  }

  test('an approval grants what was asked for and the usual limits where the request says nothing', async () => {
    const identifier = await keyFor('approve');
    await confirmed(identifier, ['approve', {}]);
    expect((await ask(identifier, ['approve', { permissions: null, expiresAt: null }])).status).toBe(202);
    await settleBackground(world.pages.background);
    expect(showKey(access, identifier)).toMatchObject({
      state: 'Active',
      permissions: ['api.lookup'],
      rateLimits: access.config.defaultRateLimits,
      expiresAt: null,
    });
  });
});

describe('what was let through is exactly one decision', () => {
  const OTHERS: Record<string, Record<string, unknown>[]> = {
    approve: [
      { ...GRANT, permissions: ['api.lookup', 'api.leaderboard'] },
      { ...GRANT, permissions: ['api.leaderboard'] },
      { ...GRANT, rateLimits: [{ quota: 8, windowSeconds: 60 }] },
      { ...GRANT, rateLimits: [{ quota: 7, windowSeconds: 61 }] },
      { ...GRANT, rateLimits: [...LIMITS, { quota: 70, windowSeconds: 3_600 }] },
      { ...GRANT, expiresAt: null },
      { ...GRANT, expiresAt: '2026-12-31T00:00:00.001Z' },
    ],
    reject: [{ reason: 'No' }, { reason: 'Yes.' }],
    change: [
      { ...GRANT, permissions: undefined },
      { ...GRANT, rateLimits: undefined },
      { ...GRANT, expiresAt: undefined },
      { ...GRANT, expiresAt: null },
    ],
    revoke: [{ reason: 'Leaked' }],
  };
  for (const operation of OPERATIONS) {
    test(`${operation}: every field with another value asks anew, and so does another key`, async () => {
      const [identifier, other] = [await keyFor(operation), await keyFor(operation)];
      const [, body] = DECISIONS[operation] as Decision;
      const path = await confirmed(identifier, [operation, body]);
      const before = traces();
      const addresses = [path];
      for (const changed of OTHERS[operation] as Record<string, unknown>[]) {
        addresses.push(await pathIn(await ask(identifier, [operation, changed])));
      }
      addresses.push(await pathIn(await ask(other, [operation, body])));
      // Another login of the same admin, and another admin.
      const second = personTokenFor(access, adminToSign(access, 'Grace') as Signed);
      for (const token of [second, hoppersToken]) {
        addresses.push(await pathIn(await ask(identifier, [operation, body], token)));
      }
      expect(new Set(addresses).size).toBe(addresses.length);
      expect(traces()).toBe(before);
      expect((await ask(identifier, [operation, body])).status).toBe(202);
    });
  }

  test('the end of the key that is replaced is a part of it', async () => {
    const old = await keyFor('revoke');
    const identifier = await request(access, { profile: showKey(access, old).profile as string, successorOf: old });
    const path = await confirmed(identifier, ['approve', { retireOldAt: '2026-02-01T00:00:00Z' }]);
    for (const body of [{}, { retireOldAt: '2026-02-02T00:00:00Z' }]) {
      expect(await pathIn(await ask(identifier, ['approve', body]))).not.toBe(path);
    }
    expect((await ask(identifier, ['approve', { retireOldAt: '2026-02-01T00:00:00Z' }])).status).toBe(202);
    await settleBackground(world.pages.background);
    expect(showKey(access, old).expiresAt).toBe('2026-02-01T00:00:00.000Z');
  });

  test('five minutes from the first request: later it is asked for anew, let through or not', async () => {
    const identifier = await keyFor('revoke');
    const decision = DECISIONS.revoke as Decision;
    const path = await confirmed(identifier, decision);
    clock.advance(5 * 60_000 - 1);
    const other = await keyFor('revoke');
    const late = await pathIn(await ask(other, decision));
    clock.advance(1);
    expect(await pathIn(await ask(identifier, decision))).not.toBe(path);
    expect((await open(path)).status).toBe(404);
    clock.advance(5 * 60_000);
    expect((await visit(world, late, { cookie: grace.cookie, form: {} })).status).toBe(404);
    sweepSessions(access.db, clock, access.sessions);
    expect(decisionRows()).toBe('[]');
  });

  test('a key that has changed meanwhile is told, before and after it was let through', async () => {
    const decision = DECISIONS.approve as Decision;
    for (const isConfirmed of [false, true]) {
      const identifier = await keyFor('approve');
      const path = await pathIn(await ask(identifier, decision));
      const page = await visit(world, path, { cookie: grace.cookie, form: {} });
      if (isConfirmed) await letThrough(path);
      access.db.$client.run('UPDATE api_keys SET description = ? WHERE identifier = ?', ['x'.repeat(80), identifier]);
      const before = traces();
      if (!isConfirmed) {
        // With a passkey's answer to what was shown before, and without.
        for (const form of [withPasskey(page, grace.authenticator), {}]) {
          const answer = await visit(world, path, { cookie: grace.cookie, form });
          expect([answer.status, answer.refusal]).toEqual([409, 'changed_since']);
        }
      }
      await expectRefused(await ask(identifier, decision), 409, 'changed_since');
      expect(traces()).toBe(before);
      // Told once; then it is another decision.
      expect(await pathIn(await ask(identifier, decision))).not.toBe(path);
      expect(textOf(await open(path))).toContain('Nothing was done');
    }
  });

  test('a profile that was erased meanwhile', async () => {
    for (const operation of OPERATIONS) {
      const identifier = await keyFor(operation);
      await confirmed(identifier, DECISIONS[operation] as Decision);
      eraseProfile(access, showKey(access, identifier).profile as string, onBox('root'));
      const before = traces();
      await expectRefused(await ask(identifier, DECISIONS[operation] as Decision), 409, 'not_possible');
      expect(traces()).toBe(before);
    }
  });
});

describe('a token alone never decides', () => {
  test('and what it could not decide at all is refused before anybody is asked', async () => {
    const [pending, active] = [await keyFor('approve'), await keyFor('change')];
    const rows = decisionRows();
    const wrong: [string, Decision][] = [
      [pending, ['approve', { rateLimits: [] }]],
      [pending, ['approve', { rateLimits: '60/1m' }]],
      [pending, ['approve', { rateLimits: '' }]],
      [pending, ['approve', { permissions: '' }]],
      [active, ['change', { permissions: '', expiresAt: null }]],
      [pending, ['approve', { permissions: [] }]],
      [pending, ['approve', { expiresAt: '2020-01-01T00:00:00Z' }]],
      [pending, ['approve', { expiresAt: 'soon' }]],
      [pending, ['approve', { expiresAt: 7 }]],
      [pending, ['approve', { retireOldAt: '2027-01-01T00:00:00Z' }]],
      [pending, ['reject', {}]],
      [pending, ['reject', { reason: ' ' }]],
      [active, ['change', {}]],
      [active, ['change', { expiresAt: '2020-01-01T00:00:00Z' }]],
      [active, ['revoke', {}]],
      [active, ['revoke', { reason: null }]],
      [active, ['revoke', { reason: 7 }]],
    ];
    for (const [identifier, decision] of wrong) await expectRefused(await ask(identifier, decision), 400, 'bad_body');
    const impossible: [string, Decision][] = [
      [active, DECISIONS.approve as Decision],
      [active, DECISIONS.reject as Decision],
      [pending, DECISIONS.change as Decision],
      [pending, DECISIONS.revoke as Decision],
    ];
    for (const [identifier, decision] of impossible) {
      await expectRefused(await ask(identifier, decision), 409, 'not_possible');
    }
    expect(decisionRows()).toBe(rows);
  });

  test('only the same admin sees its page, and lets it through with the own passkey', async () => {
    const identifier = await keyFor('revoke');
    const path = await pathIn(await ask(identifier, DECISIONS.revoke as Decision));
    const before = traces();
    const [page, refuse] = [path, `${path}/refuse`];
    const owner = signInOwner(access, 7);
    for (const address of [page, refuse]) {
      expect((await visit(world, address, { cookie: hopper.cookie, form: {} })).status).toBe(404);
      expect((await visit(world, address, { cookie: owner, form: {} })).status).toBe(403);
      expect((await visit(world, address, { form: {} })).status).toBe(403);
    }
    expect((await open(path, hopper)).status).toBe(404);
    expect((await open(path, { cookie: owner })).status).toBe(403);
    const signIn = await visit(world, path);
    expect([signIn.status, valuesOf(signIn, 'location')]).toEqual([
      303,
      [`/developers/admin/sign-in?next=${encodeURIComponent(path)}`],
    ]);
    // Another admin's passkey, and an assertion for the same decision on a page of the browser.
    const asked = await visit(world, path, { cookie: grace.cookie, form: {} });
    const others = withPasskey(asked, hopper.authenticator);
    expect((await visit(world, path, { cookie: grace.cookie, form: others })).status).toBe(403);
    const onPage = await askToDecide(world, grace, identifier, [
      ['operation', 'revoke'],
      ['reason', 'Leaked.'],
    ]);
    const assertion = withPasskey(onPage, grace.authenticator).filter(
      ([name]) => !['operation', 'reason', 'shown'].includes(name),
    );
    expect((await visit(world, path, { cookie: grace.cookie, form: assertion })).status).toBe(403);
    await pathIn(await ask(identifier, DECISIONS.revoke as Decision));
    // And the other way round: what lets the request of the token through decides nothing on a page.
    const forToken = withPasskey(await visit(world, path, { cookie: grace.cookie, form: {} }), grace.authenticator);
    const forPage = [
      ...hiddenIn(onPage).filter(([name]) => ['operation', 'reason', 'shown'].includes(name)),
      ...forToken,
    ];
    const decide = `/developers/admin/keys/${identifier}/decide`;
    expect((await visit(world, decide, { cookie: grace.cookie, form: forPage })).status).toBe(403);
    expect(traces()).toBe(before);
  });

  test('an assertion works once, and a decision that was refused is told once', async () => {
    const identifier = await keyFor('revoke');
    const decision = DECISIONS.revoke as Decision;
    const path = await pathIn(await ask(identifier, decision));
    const form = withPasskey(await visit(world, path, { cookie: grace.cookie, form: {} }), grace.authenticator);
    const refused = await visit(world, `${path}/refuse`, { cookie: grace.cookie, form: {} });
    expect([refused.status, valuesOf(refused, 'location')]).toEqual([303, [path]]);
    expect(textOf(await open(path))).toContain('You have refused this; nothing was done.');
    // What was refused is not let through any more.
    expect((await visit(world, path, { cookie: grace.cookie, form })).status).toBe(303);
    expect(await expectRefused(await ask(identifier, decision), 403, 'decision_refused')).toContain('refused');
    const next = await pathIn(await ask(identifier, decision));
    expect(next).not.toBe(path);
    expect((await visit(world, next, { cookie: grace.cookie, form })).status).toBe(403);
    expect(showKey(access, identifier).state).toBe('Active');
  });

  test('a login that was ended meanwhile carries nothing out, nor does an admin who was removed or invited anew', async () => {
    const decision = DECISIONS.revoke as Decision;
    const identifier = await keyFor('revoke');
    const turing = signInAdmin(world, 'Turing');
    const signed = adminToSign(access, 'Turing') as Signed;
    const endings = [
      (token: string) => endPersonToken(access, signed, token.slice(4, 12)),
      () => inviteAdmin(access, 'Turing', { keepPasskeys: true }, onBox('root')),
    ];
    for (const end of endings) {
      const token = personTokenFor(access, signed);
      const path = await pathIn(await ask(identifier, decision, token));
      expect((await letThrough(path, turing)).status).toBe(303);
      end(token);
      await expectRefused(await ask(identifier, decision, token), 401, 'invalid_token');
    }
    const lovelace = signInAdmin(world, 'Lovelace');
    const token = tokenOf('Lovelace');
    const path = await pathIn(await ask(identifier, decision, token));
    expect((await letThrough(path, lovelace)).status).toBe(303);
    removeAdmin(access, 'Lovelace', onBox('root'));
    await expectRefused(await ask(identifier, decision, token), 401, 'invalid_token');
    // The same name later is another admin.
    signInAdmin(world, 'Lovelace');
    expect(await pathIn(await ask(identifier, decision, tokenOf('Lovelace')))).not.toBe(path);
    expect(showKey(access, identifier).state).toBe('Active');
  });

  test('an owner’s token has no decision to ask for', async () => {
    const identifier = await request(access, { profile: 'bea' });
    const owner = personTokenFor(access, ownerToSign(access, 8) as Signed);
    for (const operation of ['approve', 'reject', 'change']) {
      await expectRefused(await ask(identifier, DECISIONS[operation] as Decision, owner), 403, 'forbidden');
    }
  });
});

test('what somebody else decides meanwhile on a page ends it', async () => {
  const identifier = await keyFor('approve');
  const path = await confirmed(identifier, DECISIONS.approve as Decision);
  await decideAs(world, hopper, identifier, [
    ['operation', 'reject'],
    ['reason', 'Not this one.'],
  ]);
  expect(await expectRefused(await ask(identifier, DECISIONS.approve as Decision), 409, 'not_possible')).toContain(
    'rejected',
  );
  expect((await open(path)).status).toBe(200);
  expect(mailedSecrets(access, identifier)).toEqual([]);
});

test('a decision that a locked database keeps from being carried out is not used up', async () => {
  access.db.$client.run('PRAGMA busy_timeout = 20');
  using other = new Database(access.config.databasePath);
  for (const operation of OPERATIONS) {
    const identifier = await keyFor(operation);
    const decision = DECISIONS[operation] as Decision;
    await confirmed(identifier, decision);
    const before = traces();
    other.run('BEGIN IMMEDIATE');
    await expectRefused(await ask(identifier, decision), 503, 'busy');
    other.run('ROLLBACK');
    expect(traces()).toBe(before);
    expect((await ask(identifier, decision)).status).toBe(202);
    await settleBackground(world.pages.background);
  }
});

test('while the server stops no approval begins, and a login has so many decisions waiting at most', async () => {
  const identifier = await keyFor('approve');
  await confirmed(identifier, DECISIONS.approve as Decision);
  world.pages.isStopping = true;
  const stopping = await ask(identifier, DECISIONS.approve as Decision);
  world.pages.isStopping = false;
  expect(await expectRefused(stopping, 503, 'busy')).toContain('The server is being stopped');
  expect((await ask(identifier, DECISIONS.approve as Decision)).status).toBe(202);
  const active = await keyFor('revoke');
  clock.advance(5 * 60_000);
  for (let at = 0; at < MOST_WAITING; at++) await pathIn(await ask(active, ['revoke', { reason: `Reason ${at}.` }]));
  const late = await ask(active, ['revoke', { reason: 'One more.' }]);
  expect(late.headers.get('retry-after')).toBe('300');
  await expectRefused(late, 429, 'too_many_challenges');
  // Those that wait are answered as before, and another login has its own.
  await pathIn(await ask(active, ['revoke', { reason: 'Reason 0.' }]));
  await pathIn(await ask(active, ['revoke', { reason: 'One more.' }], hoppersToken));
});
