import { beforeEach, describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { changeKey, revokeLeakedKeys } from '../../../shared/keys/life.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { storeReminders } from '../../../shared/mail/reminders.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { get, startTestServer } from '../../support/http.ts';
import { approveKey, issue, keysListed, mails, moveByAdmin, request } from '../../support/keys.ts';
import { changeByHand, eraseProfile, insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, refusal, testClock, testDeps } from '../../support/world.ts';

// A suspended key keeps its secret, slot and grant, but its requests are refused.

let clock = testClock();
let deps = { ...testDeps({ clock }), clock };

beforeEach(() => {
  clock = testClock();
  deps = { ...testDeps({ clock, variables: { ADMIN_EMAIL: 'root@example.net' } }), clock };
  insertProfile(deps.db);
});

const admin = onBox('admin');
const state = (identifier: string) => showKey(deps, identifier).state;
const events = (identifier: string) => keyHistory(deps, identifier).map(({ event }) => event);

/** A suspended key that expires after the given number of days, if any. */
async function suspended(lifeDays?: number) {
  const grant = lifeDays === undefined ? {} : { expiresAtMs: clock.nowMs() + lifeDays * DAY_MS };
  const key = await issue(deps, {}, grant);
  moveByAdmin(deps, key.identifier, 'suspend');
  return key;
}

/** Sends the mails that are due, and returns those to the owner, each on one line. */
async function sentMails(): Promise<string[]> {
  clock.advance(60_000);
  const before = mails(deps).length;
  storeReminders(deps.db, clock.nowMs(), deps.config);
  await sendDueMails(deps, () => undefined);
  const sent = mails(deps).slice(before);
  return sent
    .filter((mail) => /^To: owner1@/m.test(mail))
    .map((mail) => mail.replace(/=\r?\n/g, '').replace(/\s+/g, ' '));
}

describe('the secret of a suspended key', () => {
  test('is refused by a running server, and works again once the key is resumed; used quota stays used', async () => {
    const server = await startTestServer({ variables: { DEFAULT_RATE_LIMITS: '5/1m' } });
    insertProfile(server.deps.db);
    const { identifier, secret } = await issue(server.deps);
    const ask = async () => {
      // A commit may take this long to be seen.
      await Bun.sleep(10);
      const answer = await get(server, '/api/lookup/uid/1', secret);
      return [answer.status, answer.headers.get('X-Error-Code'), answer.headers.get('RateLimit')];
    };
    expect(await ask()).toEqual([200, null, '"1m";r=4;t=60']);
    moveByAdmin(server.deps, identifier, 'suspend');
    expect(await ask()).toEqual([401, 'invalid_token', null]);
    moveByAdmin(server.deps, identifier, 'resume');
    expect(await ask()).toEqual([200, null, '"1m";r=3;t=60']);
  });

  test('revokes the key if it is reported as found', async () => {
    const { identifier, secret } = await suspended();
    revokeLeakedKeys(deps, secret);
    expect(state(identifier)).toBe('revoked');
  });
});

test('a suspended key keeps its slot', async () => {
  const { identifier } = await suspended();
  await request(deps);
  await request(deps);
  expect((await refusal(request(deps))).message).toContain(`${identifier} (suspended, "Bot")`);
});

describe('the expiry of a suspended key', () => {
  test('is shown at once; then the key can’t be resumed', async () => {
    const { identifier } = await suspended(1);
    clock.advance(DAY_MS);
    const resume = () => refusal(() => perform(deps, admin, OPERATIONS.resume, { identifier }));
    expect(state(identifier)).toBe('expired');
    expect((await resume()).message).toContain('is expired; only suspended keys');
    expect(keysListed(deps, { states: ['expired'], limit: 5 }).length).toBe(1);
    expect(keysListed(deps, { states: ['suspended'] }).length).toBe(0);
  });

  test('frees its slot', async () => {
    await suspended(1);
    clock.advance(DAY_MS);
    for (let at = 0; at < 3; at++) await request(deps);
    expect((await refusal(request(deps))).code).toBe('refused');
  });

  test('causes a reminder only after the key is resumed', async () => {
    const { identifier } = await suspended(90);
    await sentMails();
    clock.advance(77 * DAY_MS);
    expect(await sentMails()).toEqual([]);
    moveByAdmin(deps, identifier, 'resume');
    const subjects = (await sentMails()).map((mail) => /Your API key \w+ (was resumed|expires soon)/.exec(mail)?.[1]);
    expect(subjects.sort()).toEqual(['expires soon', 'was resumed']);
  });
});

test('a suspended key can be changed, and has the new grant once it is resumed', async () => {
  const { identifier, secret } = await suspended();
  changeKey(deps, { identifier, change: { permissions: ['api.leaderboard'] }, by: admin });
  const { verify } = readingOf(deps);
  expect(verify(secret)).toBeNull();
  moveByAdmin(deps, identifier, 'resume');
  expect(verify(secret)).toMatchObject({ permissions: ['api.leaderboard'] });
});

test('erasing the profile of a suspended key revokes it', async () => {
  const { identifier } = await suspended();
  eraseProfile(deps, 'user1', onBox('operator'));
  expect(events(identifier).slice(-2)).toEqual(['revoked', 'erased']);
});

test('a ban is in the history of a suspended key, but not mailed', async () => {
  const { identifier } = await suspended();
  await sentMails();
  for (const banned of [true, false]) {
    changeByHand(deps, 'user1', { banned });
    expect(await sentMails()).toEqual([]);
    expect(showKey(deps, identifier)).toMatchObject({ state: 'suspended', refusedFor: banned ? 'ban' : null });
    clock.advance(1);
  }
  expect(events(identifier).slice(-2)).toEqual(['profile banned', 'profile unbanned']);
});

test('a successor that was requested before the suspension can retire the suspended key, and the mail says that that is suspended', async () => {
  const old = await issue(deps, {}, { expiresAtMs: clock.nowMs() + 30 * DAY_MS });
  const [first, second] = [
    await request(deps, { successorOf: old.identifier }),
    await request(deps, { successorOf: old.identifier }),
  ];
  moveByAdmin(deps, old.identifier, 'suspend');
  const end = clock.nowMs() + 7 * DAY_MS;
  await approveKey(deps, { identifier: first, grant: { retireOldAtMs: end }, by: admin });
  expect(showKey(deps, old.identifier)).toMatchObject({ state: 'suspended', expiresAt: new Date(end).toISOString() });
  expect((mails(deps).at(-1) ?? '').replace(/=\r?\n/g, '').replace(/\s+/g, ' ')).toContain(
    `${old.identifier} is suspended, so requests that use it are refused; it expires at`,
  );
  await approveKey(deps, { identifier: second, grant: { retireOldAtMs: end + DAY_MS }, by: admin });
  expect(showKey(deps, old.identifier).expiresAt).toBe(new Date(end).toISOString());
});

test('the owner is mailed the reason for a suspension, and on resumption that the key works again or is still refused for a ban', async () => {
  const { identifier } = await suspended();
  const [reason] = await sentMails();
  expect(reason).toContain(`Subject: Your API key ${identifier} was suspended`);
  expect(reason).toContain('> Too fast.');
  moveByAdmin(deps, identifier, 'resume');
  expect((await sentMails()).join()).toContain('It works again with the same secret and the same rate limits.');
  moveByAdmin(deps, identifier, 'suspend');
  changeByHand(deps, 'user1', { banned: true });
  moveByAdmin(deps, identifier, 'resume');
  expect((await sentMails()).join()).toContain('It is still refused while your profile is banned');
});
