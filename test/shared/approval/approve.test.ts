import { beforeEach, describe, expect, test } from 'bun:test';
import { outcomeOf } from '../../../shared/approval/approve.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase, SERVING_TIMEOUT_MS } from '../../../shared/files/open.ts';
import { MOVES, VOIDING_CHANGES, VOIDING_EVENTS } from '../../../shared/keys/key.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { type HistoryView, keyHistory, showKey } from '../../../shared/keys/view.ts';
import { createMailer, type Mailer } from '../../../shared/mail/send.ts';
import { approveKey, request } from '../../support/keys.ts';
import { startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { eventually, onBox, testClock, testDeps } from '../../support/world.ts';
import { serverAt } from '../mail/sample.ts';

const clock = testClock();
const base = testDeps({ clock });
let profile = '';
let nextId = 1;

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(base.db, { id: nextId++ });
});

/** The same database, with a mailer that sends to this port and gives up after `timeoutMs`. */
function mailingTo(port: number, timeoutMs = 60_000) {
  return { ...base, mailer: async () => createMailer(serverAt(port), 'keys@example.net', { timeoutMs }) };
}

async function approve(deps: typeof base, identifier: string, grant = {}): Promise<AppError | null> {
  try {
    await approveKey(deps, { identifier, grant, by: onBox('admin') });
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

const events = (identifier: string) => keyHistory(base, identifier).map((entry) => entry.event);

test('accepted: the key is Active with its grant, and the attempt is stored', async () => {
  const smtp = await startSmtp();
  const identifier = await request(base, { profile, permissions: ['api.lookup'] });
  const expiresAtMs = clock.nowMs() + 86_400_000;
  const grant = { permissions: ['api.leaderboard'], rateLimits: [{ quota: 5, windowSeconds: 60 }], expiresAtMs };
  expect(await approve(mailingTo(smtp.port), identifier, grant)).toBeNull();
  expect(showKey(base, identifier)).toMatchObject({
    state: 'Active',
    requestedPermissions: ['api.lookup'],
    permissions: ['api.leaderboard'],
    rateLimits: [{ quota: 5, windowSeconds: 60 }],
    expiresAt: '2026-01-02T00:00:00.000Z',
    attempt: { number: 1, by: 'admin (on the box)', result: 'accepted' },
  });
});

describe('definitely refused: the key is still pending and can be approved at once, and the error says why', () => {
  for (const [stage, reply, code] of [
    ['RCPT', '550 5.1.1 no such user', 'refused'],
    ['RCPT', '451 4.3.0 try later', 'try_later'],
  ] as const) {
    test(`${reply.slice(0, 3)} at ${stage}: ${code}`, async () => {
      const broken = await startBrokenSmtp({ [stage]: reply });
      const identifier = await request(base, { profile });
      const error = await approve(mailingTo(broken.port), identifier);
      expect(error?.code).toBe(code);
      expect(error?.message).toContain('still pending');
      expect(showKey(base, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'refused' } });
      expect(events(identifier)).toEqual(['requested', 'approval started', 'approval refused']);
      const smtp = await startSmtp();
      expect(await approve(mailingTo(smtp.port), identifier)).toBeNull();
      expect(showKey(base, identifier).attempt?.number).toBe(2);
    });
  }
});

test('refused while another process holds the lock for longer than a server waits at once: that is stored, too', async () => {
  const identifier = await request(base, { profile });
  const other = openDatabase(base.config.databasePath, 'use');
  const mailer: Mailer = {
    send: async () => {
      other.$client.run('BEGIN IMMEDIATE');
      setTimeout(() => other.$client.run('ROLLBACK'), 200);
      return { outcome: 'refused', permanent: true, reason: 'There is no such mailbox.' };
    },
  };
  base.db.$client.run(`PRAGMA busy_timeout = ${SERVING_TIMEOUT_MS}`);
  const error = await approve({ ...base, mailer: async () => mailer }, identifier);
  expect(error?.message).toContain('There is no such mailbox. Key');
  await eventually(() => !other.$client.inTransaction);
  expect(showKey(base, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'refused' } });
  other.$client.close();
});

test('unknown: the key is pending, the attempt "not confirmed", and the error says so', async () => {
  const broken = await startBrokenSmtp({ dot: 'close' });
  const identifier = await request(base, { profile });
  const error = await approve(mailingTo(broken.port), identifier);
  expect(error?.code).toBe('try_later');
  expect(error?.message).toContain('not confirmed');
  expect(showKey(base, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'not confirmed' } });
  const smtp = await startSmtp();
  expect(await approve(mailingTo(smtp.port), identifier)).toBeNull();
});

test('a second admin is refused with who is approving it, and since when; after the lease the attempt counts as crashed', async () => {
  const identifier = await request(base, { profile });
  let second: AppError | null = null;
  const smtp = await startSmtp({
    onMessage: async () => {
      second = await approve(mailingTo(smtp.port), identifier);
    },
  });
  expect(await approve(mailingTo(smtp.port), identifier)).toBeNull();
  expect(second).toMatchObject({ code: 'try_later' });
  expect(String(second)).toContain('admin (on the box) has been approving');
  expect(smtp.received).toHaveLength(1);

  const crashed = await request(base, { profile });
  base.db.$client.run(
    "INSERT INTO key_attempts SELECT identifier, 1, 'somebody', ?, ?, 'x@example.org', '[]', '[]', NULL, 'open', 'admin', NULL FROM api_keys WHERE identifier = ?",
    [clock.nowMs(), clock.nowMs() + 120_000, crashed],
  );
  base.db.$client.run('UPDATE api_keys SET attempt_number = 1 WHERE identifier = ?', [crashed]);
  clock.advance(119_999);
  expect((await approve(mailingTo(smtp.port), crashed))?.message).toContain('admin somebody');
  clock.advance(1);
  expect(showKey(base, crashed).attempt?.result).toBe('not confirmed');
  expect(await approve(mailingTo(smtp.port), crashed)).toBeNull();
  expect(events(crashed)).toContain('approval not confirmed');
});

for (const [verb, state] of [
  ['withdraw', 'withdrawn'],
  ['reject', 'rejected'],
] as const) {
  test(`${state} while the mail is on its way: the mailed secret never works, and the error says so`, async () => {
    const identifier = await request(base, { profile });
    const smtp = await startSmtp({
      onMessage: async (mail) => {
        if (!mail.raw.includes('is approved')) return;
        if (verb === 'withdraw') moveAndNotify(base, 'withdraw', { identifier, by: onBox('owner') });
        else await moveAndNotify(base, 'reject', { identifier, reason: 'No.', by: onBox('other') });
      },
    });
    const error = await approve(mailingTo(smtp.port), identifier);
    expect(error?.code).toBe('refused');
    expect(error?.message).toContain('will never work');
    expect(showKey(base, identifier)).toMatchObject({ state, attempt: { result: 'voided' } });
  });
}

test('withdrawn while the mail server does not answer: the error says that another decision was made', async () => {
  const identifier = await request(base, { profile });
  const broken = await startBrokenSmtp({ dot: 'silence' });
  const approval = approve(mailingTo(broken.port, 1000), identifier);
  await eventually(() => broken.seen.includes('dot'));
  moveAndNotify(base, 'withdraw', { identifier, by: onBox('owner') });
  const error = await approval;
  expect(error?.code).toBe('refused');
  expect(error?.message).toContain('another decision was made');
  expect(error?.message).not.toContain('stays pending');
});

test('not mailed, because that could outlast the lease after waiting for other mails: the error says why', async () => {
  const smtp = await startSmtp();
  const identifier = await request(base, { profile });
  let reads = 0;
  const late = { ...clock, monotonicMs: () => (reads++ === 0 ? 0 : 60_001) };
  const error = await approve({ ...mailingTo(smtp.port), clock: late }, identifier);
  expect(error?.code).toBe('try_later');
  expect(error?.message).toContain('too slow');
  expect([smtp.received, showKey(base, identifier).attempt?.result]).toEqual([[], 'refused']);
});

describe('accepted but not stored', () => {
  test('a lock that is released in time only delays the approval', async () => {
    const identifier = await request(base, { profile });
    const other = openDatabase(base.config.databasePath, 'use');
    let waits = 0;
    const deps = {
      ...mailingTo((await startSmtp({ onMessage: () => void other.$client.run('BEGIN IMMEDIATE') })).port),
      clock: {
        ...clock,
        monotonicMs: () => {
          // Read at the beginning and before the mail, then after each failed try.
          if (++waits === 3) other.$client.run('ROLLBACK');
          return 0;
        },
      },
    };
    expect(await approve(deps, identifier)).toBeNull();
    expect(waits).toBe(3);
    expect(showKey(base, identifier).state).toBe('Active');
    other.$client.close();
  });

  test('a lock that outlasts the lease leaves the key pending and the mailed secret void', async () => {
    const identifier = await request(base, { profile });
    const other = openDatabase(base.config.databasePath, 'use');
    const smtp = await startSmtp({ onMessage: () => void other.$client.run('BEGIN IMMEDIATE') });
    const error = await approve({ ...mailingTo(smtp.port), approvalLeaseMs: 100 }, identifier);
    expect(error?.code).toBe('try_later');
    expect(error?.message).toContain('will never work');
    other.$client.run('ROLLBACK');
    clock.advance(100);
    expect(showKey(base, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'not confirmed' } });
    other.$client.close();
  });
});

test('every end of a request other than its approval voids an attempt, and so do two changes of its profile', () => {
  const ends = Object.values(MOVES).filter(({ from, to }) => from.some((one) => one === 'pending') && to !== 'Active');
  const voiding: readonly string[] = VOIDING_EVENTS;
  expect(voiding.toSorted()).toEqual([...VOIDING_CHANGES, ...ends.map(({ event }) => event)].sort());
});

test('the outcome of the latest attempt has its reason, and the entry that ended it', () => {
  const entry = (event: HistoryView['event'], detail: HistoryView['detail'] = null): HistoryView => {
    return { at: '2026-01-01T00:00:00.000Z', by: 'admin Grace', event, from: 'pending', to: 'pending', detail };
  };
  const attempt = (number: number, result: 'refused' | 'voided') => {
    return { attempt: { number, by: 'admin Grace', startedAt: '2026-01-01T00:00:00.000Z', result } };
  };
  const history = [
    entry('address changed'),
    entry('approval started', { attempt: 1 }),
    entry('approval refused', { attempt: 1, reason: 'No such mailbox.', isTemporary: true }),
    entry('approval started', { attempt: 2 }),
    entry('edited'),
    entry('profile banned', { attempt: 2 }),
    entry('rejected'),
  ];
  expect(outcomeOf({ attempt: null }, history)).toBeNull();
  expect(outcomeOf(attempt(1, 'refused'), history)).toMatchObject({
    result: 'refused',
    reason: 'No such mailbox.',
    isTemporary: true,
    end: { event: 'approval refused' },
  });
  expect(outcomeOf(attempt(2, 'voided'), history)).toMatchObject({
    result: 'voided',
    reason: undefined,
    isTemporary: false,
    end: { event: 'profile banned' },
  });
});
