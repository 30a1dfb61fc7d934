import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { KEY_STATES } from '../../../shared/db/schema.ts';
import { editKey } from '../../../shared/keys/life.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { allows } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import { storeLastImport } from '../../../shared/profiles/import/report.ts';
import { issue, keyIn, mailedSecrets, moveByAdmin, request } from '../../support/keys.ts';
import { ADA, type Answer, adminPages, BEA, type ServedPages } from '../../support/pages.ts';
import { eraseProfile, importLines } from '../../support/profiles.ts';
import { use } from '../../support/storage.ts';
import { eventually, onBox } from '../../support/world.ts';
import { pageRecorder } from './readable.ts';
import { storedIn, useKey } from './stored.ts';

// What admins see of requests and keys is recorded; what their decisions store is asserted.

const record = pageRecorder(import.meta.path);

const stored = ({ access: { db } }: ServedPages) => storedIn(db, ['api_keys', 'events', 'key_attempts']);

/** The path of a key's page below `/developers/admin`. */
const at = (identifier: string) => `/keys/${identifier}`;

/** Waits until a key is Active: approvals go on after the response. */
const becomesActive = ({ access }: ServedPages, identifier: string) =>
  eventually(() => showKey(access, identifier).state === 'Active');

describe('the queue', () => {
  test('says who is notified while it is empty', async () => {
    for (const address of ['', 'root@example.org']) {
      const { grace } = await adminPages({ ADMIN_EMAIL: address });
      record(`an empty queue, ADMIN_EMAIL="${address}"`, await grace.see());
    }
  });

  test('shows the oldest request first, each with what it is decided by', async () => {
    const world = await adminPages();
    const { access, clock, grace } = world;
    await importLines(access, [{ id: 9, username: 'cy', email: 'cy@example.org' }]);
    const { identifier: old } = await issue(access, { profile: 'ada', name: 'Old bot' });
    const asked = [
      await request(access, { profile: 'ada', name: 'New bot', successorOf: old, projectUrl: 'https://example.org/a' }),
      await request(access, { profile: 'bea', permissions: ['api.lookup', 'api.leaderboard'], expectedUsage: '<b>' }),
      await request(access, { profile: 'cy', name: '<i>Cy’s</i>' }),
    ];
    clock.advance(2 * DAY_MS);
    await importLines(access, [
      { ...BEA, email: 'new@example.org' },
      { id: 9, username: 'cy', email: 'cy@example.org', banned: true },
    ]);
    const hopper = await world.signIn('Hopper');
    record('the queue', await hopper.see(), 'body');
    const chosen = (page: Answer) => page.body.match(/name="chosen" [^>]* checked>/g)?.length ?? 0;
    const all = await hopper.see('?choose=all');
    expect([chosen(await hopper.see()), chosen(all)]).toEqual([0, 1]);
    const [, clear] = /href="[^"]*(\?[^"]*)">Clear</.exec(all.body) ?? [];
    expect([clear, chosen(await hopper.see(clear))]).toEqual(['?choose=', 0]);
    record('the list of keys, pending ones', await hopper.see('/keys?state=pending'));
    record('nothing is chosen', await hopper.press(await hopper.see(), 'Approve as requested', { chosen: [] }));
    record('the page of a successor', await hopper.see(at(asked[0] as string)));
    record('the page of a request whose address changed', await hopper.see(at(asked[1] as string)));
    record('the page of a request of a banned profile', await hopper.see(at(asked[2] as string)));
    expect((await grace.see()).status).toBe(303);
  });

  test('has pages of 50, and what is chosen or refused stays on its page', async () => {
    const world = await adminPages();
    const { access, clock, grace } = world;
    const keys: string[] = [];
    for (let n = 0; n < 52; n++) {
      await importLines(access, [{ id: 100 + n, username: `user${n}`, email: `user${n}@example.org` }]);
      keys.push(await request(access, { profile: `user${n}` }));
      clock.advance(1);
    }
    const listed = ({ body }: Answer) =>
      [...body.matchAll(/<li class="row" id="row-(\w{8})"|<h3><a href="[^"]*\/keys\/(\w{8})"/g)].map(
        ([, row, one]) => row ?? one,
      );
    const linkOn = ({ body }: Answer, text: string) =>
      new RegExp(`href="/developers/admin([^"]*)">${text}`).exec(body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const first = await grace.see();
    expect(listed(first)).toEqual(keys.slice(0, 50));
    expect(listed(await grace.see('/keys'))).toEqual(keys.slice(0, 50));
    const second = await grace.see(linkOn(first, 'Next page'));
    record('the second page of the queue', second);
    const chosen = await grace.see(linkOn(second, 'Choose all'));
    expect(chosen.body.match(/ checked>/g)).toHaveLength(2);
    expect(listed(await grace.press(second, 'Approve as requested'))).toEqual(keys.slice(50));
    for (const query of ['?after=0', '/keys?after=0', '/keys?state=lost']) {
      expect((await grace.see(query)).status).toBe(400);
    }
  });

  test('offers no approval if no mail can be sent, and says why', async () => {
    const { access, grace } = await adminPages({ MAIL_URL: '' });
    const identifier = await request(access, { profile: 'ada' });
    record('the queue without MAIL_URL', await grace.see());
    record('the page of a request without MAIL_URL', await grace.see(at(identifier)));
  });
});

test('the page of a key in each state has the decisions of that state, and a dangerous one asks once more', async () => {
  const { access, clock, grace } = await adminPages();
  for (const state of KEY_STATES) {
    clock.advance(60_000);
    const identifier = await keyIn(
      state,
      { ...access, clock },
      state === 'pending' || state === 'Active' ? 'bea' : 'ada',
    );
    const page = await grace.see(at(identifier));
    record(state, page);
    const before = showKey(access, identifier);
    const dangerous = DECISIONS.filter((operation) => operation.isDangerous && allows(operation, before));
    for (const word of dangerous.map(({ texts }) => texts.button)) {
      const button = `${word}…`;
      const asked = await grace.press(page, button);
      record(`${state}: ${button}`, asked);
      const refused = await grace.press(asked, `${word} it`, { reason: ' ' });
      if (state === 'pending') record(`${state}: ${button} without a reason`, refused);
      else expect([state, button, refused.status]).toEqual([state, button, 422]);
    }
    expect(showKey(access, identifier)).toEqual(before);
  }
  const { identifier } = await issue(access, { profile: 'ada', name: 'Gone' });
  eraseProfile(access, 'ada', onBox('root'));
  record('erased', await grace.see(at(identifier)));
});

describe('a decision', () => {
  test('to approve is carried out at once, with what was granted', async () => {
    const world = await adminPages();
    const { access, grace } = world;
    const { identifier: old } = await issue(access, { profile: 'ada' });
    const identifier = await request(access, {
      profile: 'ada',
      successorOf: old,
      permissions: ['api.lookup', 'api.leaderboard'],
    });
    const limits = { rateLimits: 'other', rateLimitsOther: ['7', ' 9 000 '], rateLimitsSpan: ['1m', '1d'] };
    const granted = { permissions: 'api.leaderboard', ...limits, expires: '90d', retireOld: '7d' };
    const answer = await grace.press(await grace.see(at(identifier)), 'Approve', granted);
    expect([answer.status, answer.location]).toEqual([303, `/developers/admin?decided=${identifier}`]);
    await becomesActive(world, identifier);
    expect(showKey(access, identifier)).toMatchObject({
      permissions: ['api.leaderboard'],
      rateLimits: [
        { quota: 7, windowSeconds: 60 },
        { quota: 9_000, windowSeconds: 86_400 },
      ],
      expiresAt: '2026-04-01T00:00:00.000Z',
    });
    expect(showKey(access, old).expiresAt).toBe('2026-01-08T00:00:00.000Z');
    expect(keyHistory(access, identifier).at(-1)?.by).toBe('admin Grace');
    expect(mailedSecrets(access, identifier)).toHaveLength(1);
    record('approved', await grace.see(`?decided=${identifier}`));
    record('approved: the page of the key', await grace.see(at(identifier)));
    record('a key that was replaced', await grace.see(at(old)));
  });

  test('to reject has its reason, and leads back to the queue', async () => {
    const { access, clock, grace } = await adminPages();
    const first = await request(access, { profile: 'ada' });
    clock.advance(1);
    await request(access, { profile: 'bea', name: 'Second' });
    const asked = await grace.press(await grace.see(at(first)), 'Reject…');
    const answer = await grace.press(asked, 'Reject it', { reason: 'Say more\nof <it>.' });
    expect([answer.status, answer.location]).toEqual([303, `/developers/admin?decided=${first}`]);
    expect(keyHistory(access, first).at(-1)).toMatchObject({
      event: 'rejected',
      by: 'admin Grace',
      detail: { reason: 'Say more\nof <it>.' },
    });
    record('one was rejected', await grace.see(`?decided=${first}`));
    // An unknown identifier or any other text is ignored.
    for (const text of ['00000000', encodeURIComponent('<b>')]) {
      const shown = await grace.see(`?decided=${text}&refused=${text}`);
      expect([shown.status, shown.body.includes('id="decided"')]).toEqual([200, false]);
    }
  });

  test('to change, suspend, resume and revoke does that, and leads back to the key', async () => {
    const world = await adminPages();
    const { access, grace } = world;
    const unusual = [{ quota: 20, windowSeconds: 15 }];
    const { identifier } = await issue(access, { profile: 'ada' }, { rateLimits: unusual });
    useKey(access, identifier, 1, 2_000);
    const page = () => grace.see(at(identifier));
    await grace.press(await page(), 'Change this key', { permissions: 'api.leaderboard' });
    expect(showKey(access, identifier)).toMatchObject({ permissions: ['api.leaderboard'], rateLimits: unusual });
    const changes = { permissions: ['api.lookup', 'api.leaderboard'], rateLimits: '5/1h', expires: '2026-02-01' };
    const changed = await grace.press(await page(), 'Change this key', changes);
    record('change: done', changed);
    expect(showKey(access, identifier)).toMatchObject({
      permissions: ['api.lookup', 'api.leaderboard'],
      rateLimits: [{ quota: 5, windowSeconds: 3_600 }],
      expiresAt: '2026-02-01T00:00:00.000Z',
    });
    const before = stored(world);
    record(
      'a change to what the key already has',
      await grace.press(await page(), 'Change this key', {
        rateLimits: 'other',
        rateLimitsOther: '5',
        rateLimitsSpan: '1h',
      }),
    );
    expect(stored(world)).toBe(before);
    const asked = await grace.press(await page(), 'Suspend…');
    record('suspend a key in use', asked);
    const suspended = await grace.press(asked, 'Suspend it', { reason: 'Too fast.' });
    record('suspend: done', suspended);
    expect(showKey(access, identifier).state).toBe('suspended');
    expect(keyHistory(access, identifier).at(-1)).toMatchObject({ by: 'admin Grace', detail: { reason: 'Too fast.' } });
    record(
      'suspended: the next page',
      await world.get(suspended.location ?? '', `${grace.cookie}; ${suspended.cookie}`),
    );
    record('revoke a suspended key', await grace.press(await page(), 'Revoke…'));
    record('resume: done', await grace.press(await page(), 'Resume'));
    expect(showKey(access, identifier).state).toBe('Active');
    const last = await grace.press(await grace.press(await page(), 'Revoke…'), 'Revoke it', { reason: 'Leaked.' });
    record('revoke: done', last);
    expect(showKey(access, identifier).state).toBe('revoked');
    record('a key with a history', await page());
  });

  test('that breaks rules comes back with what was typed, and is not carried out', async () => {
    const world = await adminPages();
    const { access, grace } = world;
    const identifier = await request(access, { profile: 'ada' });
    const page = await grace.see(at(identifier));
    const before = stored(world);
    const wrong = {
      permissions: [],
      rateLimits: 'other',
      rateLimitsOther: ['sixty', '5', '7', ''],
      rateLimitsSpan: ['1m', '1h', '1h', '1d'],
      expires: 'other',
      expiresOther: 'yesterday',
    };
    record('an approval that breaks every rule', await grace.press(page, 'Approve', wrong));
    expect((await grace.press(page, 'Approve', { operation: 'remove passkey' })).refusal).toBe('bad_form');
    expect(stored(world)).toBe(before);
  });

  test('on a key that has changed since its page was shown is refused, and the page comes back as it is now', async () => {
    const world = await adminPages();
    const { access, grace } = world;
    const { identifier: old } = await issue(access, { profile: 'ada' });
    const identifier = await request(access, { profile: 'ada', successorOf: old });
    const other = await request(access, { profile: 'ada' });
    const [page, otherPage] = [await grace.see(at(identifier)), await grace.see(at(other))];
    const versionOf = ({ body }: Answer) => /name="shown" value="([^"]+)"/.exec(body)?.[1] ?? '';
    const hopper = await world.signIn('Hopper');
    await hopper.press(await hopper.press(await hopper.see(at(old)), 'Revoke…'), 'Revoke it', { reason: 'Leaked.' });
    const before = stored(world);
    const refused = await grace.press(page, 'Approve');
    record('approve: the predecessor was revoked', refused);
    // Neither is a version of another key, or none.
    for (const shown of [versionOf(otherPage), '']) {
      expect((await grace.press(page, 'Approve', { shown })).refusal).toBe('changed_since');
    }
    expect(stored(world)).toBe(before);
    expect((await grace.press(refused, 'Approve')).status).toBe(303);
    await becomesActive(world, identifier);
    // If the key changes while a reason is typed, the reason is kept.
    const asked = await grace.press(await grace.see(at(identifier)), 'Suspend…');
    await hopper.press(await hopper.see(at(identifier)), 'Change this key', { rateLimits: '5/1h' });
    const late = await grace.press(asked, 'Suspend it', { reason: 'Too fast.' });
    record('suspend: the limits were changed', late);
    expect((await grace.press(late, 'Suspend it')).status).toBe(303);
    expect(showKey(access, identifier).state).toBe('suspended');
  });

  test('on a changed key that also breaks a rule is refused for both, because the page comes back with the new state', async () => {
    const { access, grace } = await adminPages();
    const identifier = await request(access, { profile: 'ada' });
    const page = await grace.see(at(identifier));
    const asked = await grace.press(page, 'Reject…');
    const askedForSeveral = await grace.press(await grace.see(), 'Reject…', { chosen: identifier });
    await importLines(access, [{ ...ADA, email: 'new@example.org' }]);
    for (const [form, button, changes] of [
      [page, 'Approve', { expires: 'other', expiresOther: 'soon' }],
      [asked, 'Reject it', { reason: '' }],
      [askedForSeveral, 'Reject it', { reason: '' }],
    ] as const) {
      const refused = await grace.press(form, button, changes);
      const again = await grace.press(refused, button, changes);
      const areChanged = [refused, again].map(({ body }) => body.includes('This has changed since you opened it'));
      expect([refused.status, again.status, ...areChanged]).toEqual([422, 422, true, false]);
    }
    expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: null });
  });

  test('is confirmed on a page that was read after the version that it sends, whoever writes meanwhile', async () => {
    const { access, clock, grace } = await adminPages();
    const identifiers = [await request(access, { profile: 'ada' }), await request(access, { profile: 'bea' })];
    const queue = await grace.see();
    const ofOne = await grace.see(`/keys/${identifiers[0]}`);
    // Each look at the clock, which follows the reading of a key, renames both, as a command beside the server can.
    const versions: string[][] = [];
    const { nowMs } = clock;
    const rename = () => {
      clock.nowMs = nowMs;
      for (const identifier of identifiers) {
        editKey(access, { identifier, name: `Name ${versions.length}`, by: onBox('root') });
      }
      versions.push(identifiers.map((identifier) => keyRevision(access.db, identifier)));
      clock.nowMs = lookAndRename;
    };
    const lookAndRename = () => {
      rename();
      return nowMs();
    };
    for (const [page, button] of [
      [queue, 'Reject…'],
      [ofOne, 'Reject…'],
    ] as const) {
      clock.nowMs = lookAndRename;
      const { body } = await grace.press(page, button, { chosen: identifiers });
      clock.nowMs = nowMs;
      const names = [...body.matchAll(/<li class="said"><b><bdi>Name (\d+)/g)].map(([, at]) => Number(at));
      const sent = [...body.matchAll(/name="shown" value="(?:\w{8} )?([^"]+)"/g)].map(([, version = '']) => version);
      const read = sent.map((version) => versions.findIndex((both) => both.includes(version)));
      expect(read.map((at, row) => at <= (names[row] ?? -1))).toEqual(names.map(() => true));
      expect(names.length).toBe(page === queue ? 2 : 1);
    }
  });
});

test('keys are found by a part of identifier, name, username, alias and display name, without accents too, and by a whole address', async () => {
  const { access, grace } = await adminPages();
  await importLines(access, [
    { id: 20, username: 'Łukasz', aliases: ['wanda'], displayName: 'Zażółć Gęś', email: 'Lukasz@Example.org' },
    { id: 21, username: 'lukas', email: 'other@example.org' },
  ]);
  const { identifier: active } = await issue(access, { profile: 'wanda', name: 'Discord role sync' });
  const pending = await request(access, { profile: 'lukas', name: '100%_sure' });
  const found = async (text: string, more = '') => {
    const { body } = await grace.see(`/keys?find=${encodeURIComponent(text)}${more}`);
    return [...body.matchAll(/<h3><a href="[^"]*\/keys\/(\w{8})"/g)].map(([, one]) => one);
  };
  for (const text of [
    active.slice(1).toLowerCase(),
    'ROLE',
    '  role ',
    'łUK',
    'ukasz',
    'and',
    'zazo',
    'gęs',
    'lukasz@example.ORG',
  ]) {
    expect([text, ...(await found(text))]).toEqual([text, active]);
  }
  for (const text of ['luk', '%_', 'Lukas']) expect([text, ...(await found(text))]).toEqual([text, pending]);
  for (const text of ['example.org', 'lukasz@example', '%%', "' OR 1=1 --", '\u0000'.repeat(2), 'x'.repeat(300)]) {
    expect([text, ...(await found(text))]).toEqual([text]);
  }
  expect([await found('luk', '&state=pending'), await found('luk', '&state=Active')]).toEqual([[pending], []]);
  await importLines(access, [
    { id: 20, username: 'Łukasz', aliases: ['wanda'], displayName: 'Żuraw', email: 'z@example.org' },
  ]);
  expect([await found('zuraw'), await found('z@example.org')]).toEqual([[active], [active]]);
  expect([await found('zazo'), await found('lukasz@example.org')]).toEqual([[], []]);
  await importLines(access, [{ id: 20, username: 'Łukasz', aliases: ['wiola'], displayName: 'Żuraw', email: null }]);
  expect([await found('wiola'), await found('wanda'), await found('z@example.org')]).toEqual([[active], [], []]);
  // A line that needs nothing of the stored profile.
  const whole = {
    id: 20,
    username: 'Łukasz',
    aliases: ['wiola'],
    banned: false,
    createdAt: '2024-05-01T00:00:00.000Z',
  };
  await importLines(access, [{ ...whole, displayName: 'Bocian' }]);
  expect([await found('bocian'), await found('zuraw')]).toEqual([[active], []]);
  editKey(access, { identifier: active, name: 'Sync of roles', by: onBox('root') });
  expect([await found('of rol'), await found('discord')]).toEqual([[active], []]);
  record('no key is found', await grace.see(`/keys?find=${encodeURIComponent('"><b>mark')}`));
  eraseProfile(access, 'lukas', onBox('root'));
  expect([await found('lukas'), await found('other@example.org'), await found(pending)]).toEqual([[], [], [pending]]);
  record('all keys', await grace.see('/keys'));
});

test('the log tells every decision on keys and people, newest first, and can be filtered', async () => {
  const { access, clock, grace, signIn } = await adminPages();
  const { identifier } = await issue(access, { profile: 'ada' });
  clock.advance(60_000);
  const other = await request(access, { profile: 'ada' });
  await grace.press(await grace.press(await grace.see(at(other)), 'Reject…'), 'Reject it', { reason: 'Say <more>.' });
  clock.advance(2 * DAY_MS);
  moveByAdmin(access, identifier, 'suspend');
  const hopper = await signIn('Hopper');
  record('the log', await hopper.see('/log'));
  for (const query of [
    `key=${identifier}`,
    'by=owner',
    'kind=key-approved',
    'to=2026-01-01&kind=admins',
    'by=nobody',
  ]) {
    record(`the log: ${query.replace(identifier, '…')}`, await hopper.see(`/log?${query}`));
  }
  for (const query of ['from=soon', 'when=constructor', 'kind=x', 'key=x', 'before=x']) {
    record(`the log refuses ${query}`, await hopper.see(`/log?${query}`));
  }
});

test('the overview shows requests by outcome, keys near their limits, and what waits', async () => {
  const { access, clock, grace, server } = await adminPages();
  // The space of the disk differs.
  const overview = async () => {
    const page = await grace.see('/overview');
    return { ...page, body: page.body.replace(/[\d.]+ (Mi|Gi|Ti)B/g, '… GiB') };
  };
  record('an overview of nothing', await overview());
  const { db } = access;
  storeLastImport(db, onBox('root'), clock.nowMs(), { lines: 12_000, refused: 3 });
  const rateLimits = [{ quota: 60, windowSeconds: 60 }];
  const busy = (await issue(access, { profile: 'ada', name: 'Busy <bot>' }, { rateLimits })).identifier;
  const quiet = (await issue(access, { profile: 'bea', name: 'Quiet bot' }, { rateLimits })).identifier;
  useKey(access, busy, 2, 2_000);
  const waiting = await request(access, { profile: 'ada' });
  db.$client.run(
    `INSERT INTO mails (identifier, kind, "to", subject, body, at, next_try_at, result, tries, fault)
       VALUES ('${waiting}', 'request', 'root@example.org', '', '', ${clock.nowMs()}, 0, 'refused', 1, 'No such <box>.')`,
  );
  clock.advance(1_200_000);
  expect(use(server.service.limits, { identifier: quiet, rateLimits }, 50)).toBeNull();
  record('an overview', await overview());
});
