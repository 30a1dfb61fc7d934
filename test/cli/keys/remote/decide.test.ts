import { afterAll, describe, expect, test } from 'bun:test';
import type { globalsOf } from '../../../../cli/context.ts';
import { watchKey } from '../../../../cli/keys/remote/decide.ts';
import type { Decision } from '../../../../cli/keys/remote/decision-outcome.ts';
import { remoteKeys } from '../../../../cli/keys/remote/remote-keys.ts';
import { type Clock, systemClock } from '../../../../shared/clock.ts';
import { exitCodeOf } from '../../../../shared/errors.ts';
import { revokeKey, withdrawKey } from '../../../../shared/keys/life/lifecycle.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import type { ShownKey } from '../../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { issue, request } from '../../../support/keys.ts';
import { ADMIN_ANSWER, KEY_ANSWER } from '../../../support/network/answers.ts';
import { decideAs } from '../../../support/portal/admin-pages.ts';
import { newDesktop } from '../../../support/portal/logins.ts';
import {
  confirming,
  DECISION_PAGE,
  profilectlAt,
  profilectlDeciding,
  remoteWorld,
} from '../../../support/portal/remote.ts';
import { decisionRows } from '../../../support/portal/sessions-rows.ts';
import { refusal } from '../../../support/refusal.ts';
import { testClock } from '../../../support/world.ts';

// Admins' decisions on a remote server: the command links to the key's page, and waits for the decision.

/** Each test runs up to ten processes. */
const LIMIT_MS = 60_000;

const { world, access, server, grace, adminToken } = await remoteWorld();

const at = (words: string[], decide?: Parameters<typeof profilectlAt>[3]) =>
  profilectlAt(server, adminToken, words, decide);

/** Revokes or withdraws a key as its owner, who then has room for another. */
const end = async (identifier: string, operation: typeof revokeKey | typeof withdrawKey = revokeKey) =>
  operation(access, { identifier, reason: null, by: onBox('owner') });

/** All rows that a decision, or the link to one, could change. */
const traces = () =>
  JSON.stringify([
    ...['api_keys', 'key_events', 'key_attempts'].map((table) =>
      access.db.$client.query(`SELECT * FROM ${table}`).all(),
    ),
    decisionRows(access.sessions),
  ]);

test(
  'without a terminal the link is printed, and the command waits for the decision only with --wait',
  async () => {
    const identifier = await request(access, { profile: 'ada' });
    const before = traces();
    const page = `${server.url}/developers/admin/keys/${identifier}`;
    const words = ['keys', 'approve', identifier, '--permission', 'api.lookup', '--rate-limit', '7/1m', '70/1h'];
    const all = [...words, '--expires', '2126-01-31'];
    const link = `${page}?operation=approve&permissions=api.lookup&rateLimits=7/1m,70/1h&expires=2126-01-31T00:00:00.000Z`;
    expect(await at(all)).toEqual({
      code: 75,
      stdout: '',
      stderr: `To approve key ${identifier}, open this page and confirm with your passkey: ${link}\n`,
    });
    expect(traces()).toBe(before);
    const done = await at([...all, '--wait', '--json'], confirming(world, grace));
    expect([done.code, JSON.parse(done.stdout)]).toMatchObject([
      0,
      { identifier, state: 'Active', expiresAt: '2126-01-31T00:00:00.000Z' },
    ]);
    expect(showKey(access, identifier).rateLimits).toEqual([
      { quota: 7, windowSeconds: 60 },
      { quota: 70, windowSeconds: 3600 },
    ]);
    const never = await at(['keys', 'change', identifier, '--expires', 'never', '--wait'], confirming(world, grace));
    expect(never).toMatchObject({ code: 0, stdout: `${identifier} Active\n` });
    expect(showKey(access, identifier).expiresAt).toBeNull();
    const again = await at(['keys', 'change', identifier, '--expires', 'never']);
    expect(again).toMatchObject({ code: 0, stdout: `${identifier} Active\n` });
    expect(again.stderr).toBe('Warning: The key already had these values; nothing was changed.\n');
    await end(identifier);
  },
  LIMIT_MS,
);

test(
  'if another decision was made, the error says so (exit code 1)',
  async () => {
    const identifier = await request(access, { profile: 'ada' });
    const shows = `"profilectl keys show ${identifier}" shows`;
    const otherLimits = await at(['keys', 'approve', identifier, '--rate-limit', '7/1m', '--wait'], () =>
      decideAs(world, grace, identifier, [
        ['operation', 'approve'],
        ['permissions', 'api.lookup'],
        ['rateLimits', '8/1m'],
      ]),
    );
    expect(otherLimits).toMatchObject({ code: 1, stdout: '' });
    expect(otherLimits.stderr).toEndWith(
      `\nKey ${identifier} is Active, but not with the values given here; ${shows} its values.\n`,
    );
    const revoked = await at(['keys', 'change', identifier, '--rate-limit', '9/1m', '--wait'], () => end(identifier));
    expect(revoked).toMatchObject({ code: 1, stdout: '' });
    expect(revoked.stderr).toEndWith(`\nKey ${identifier} is revoked: something else was decided; ${shows} what.\n`);
  },
  LIMIT_MS,
);

test(
  'keys approve --retire-old waits until the old key gets its expiry too',
  async () => {
    const { identifier: old } = await issue(access, { profile: 'ada' });
    const successor = await request(access, { profile: 'ada', successorOf: old });
    const words = ['keys', 'approve', successor, '--retire-old', '2126-01-31', '--wait'];
    const done = await at(words, confirming(world, grace));
    expect([done.code, done.stdout]).toEqual([0, `${successor} Active\n`]);
    expect(showKey(access, old).expiresAt).toBe('2126-01-31T00:00:00.000Z');
    for (const identifier of [successor, old]) await end(identifier);
  },
  LIMIT_MS,
);

test(
  'an impossible decision is refused before a link is printed',
  async () => {
    const [pending, { identifier: active }] = [
      await request(access, { profile: 'ada' }),
      await issue(access, { profile: 'ada' }),
    ];
    const wrong: [words: string[], code: number, sentence: string][] = [
      [['reject', pending, '--reason', 'No.'], 2, 'the reason is typed on the key'],
      [['approve', 'aaaaaaaa', '--wait'], 1, 'There is no key with this identifier.'],
      [['approve', active], 1, 'only pending keys can be approved'],
      [['approve', pending, '--rate-limit', 'many'], 2, 'A rate limit is'],
      [['approve', pending, '--expires', '90s'], 2, 'must be more than'],
      [['approve', pending, '--retire-old', '7d'], 2, 'does not replace another key'],
    ];
    const before = traces();
    for (const [words, code, sentence] of wrong) {
      const done = await at(['keys', ...words]);
      expect([words, done.code, done.stdout]).toEqual([words, code, '']);
      expect(done.stderr).toContain(sentence);
      expect(done.stderr).not.toContain('/developers/');
    }
    expect(traces()).toBe(before);
    await end(pending, withdrawKey);
    await end(active);
  },
  2 * LIMIT_MS,
);

const KEY = KEY_ANSWER;

/** A fake server. */
function serverOf(answer: (request: Request) => Response) {
  const fake = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  afterAll(() => fake.stop(true));
  return { url: `http://127.0.0.1:${fake.port}`, token: 'plt_not-a-token' };
}

test(
  'the browser opens the page of the named server, whatever that server responds',
  async () => {
    const desktop = newDesktop();
    const evil = 'http://evil.example/developers/admin/keys/k7Qm2XaB';
    let state = 'pending';
    const { url, token } = serverOf((asked) => {
      const { pathname } = new URL(asked.url);
      if (pathname.endsWith('/me')) return Response.json({ ...ADMIN_ANSWER, name: evil, address: evil });
      const key = { ...KEY, projectUrl: evil, state, history: [], address: evil };
      return Response.json(key, { headers: { Location: evil, Link: `<${evil}>; rel="next"` } });
    });
    const words = ['keys', 'reject', KEY.identifier, '--wait', '--host', url];
    const page = `${url}/developers/admin/keys/${KEY.identifier}?operation=reject`;
    const running = profilectlDeciding(words, { ...desktop.variables, PROFILECTL_TOKEN: token }, async () => {
      expect(await desktop.opened()).toBe(page);
      state = 'rejected';
    });
    const done = await running;
    expect(done.code).toBe(0);
    expect(DECISION_PAGE.exec(done.stderr)?.[0].trim()).toBe(page);
    expect(done.stderr).not.toContain('evil');
  },
  LIMIT_MS,
);

describe('the wait for a decision', () => {
  const decision: Decision = { operation: OPERATIONS.approve, identifier: KEY.identifier, given: {} };
  const before: ShownKey = { key: KEY, history: [], predecessor: null };
  const globals = {} as ReturnType<typeof globalsOf>;

  const watchAt = (
    answer: (request: Request) => Response,
    patienceMs: number,
    of = decision,
    clock: Clock = systemClock,
  ) => watchKey({ ...globals, ...remoteKeys(serverOf(answer)), clock }, of, before, patienceMs);

  test('ends at its time limit with an error that says that nobody has decided (exit code 75)', async () => {
    const clock = testClock();
    const startedAt = performance.now();
    let asked = 0;
    const answer = () => {
      asked++;
      clock.advance(250);
      return Response.json({ ...KEY, history: [] });
    };
    const { code, message } = await refusal(watchAt(answer, 600, decision, clock));
    expect([exitCodeOf(code), message]).toEqual([
      75,
      'Nobody decided within 0.01 minutes; key k7Qm2XaB is still pending.',
    ]);
    // Between the three questions are pauses of 250 and 500 ms; a timer may be a millisecond early.
    expect([asked, performance.now() - startedAt > 748]).toEqual([3, true]);
  });

  test('continues while the server is unavailable, but not after the login has ended', async () => {
    const answers = [
      Response.json({ error: 'Busy.' }, { status: 503, headers: { 'X-Error-Code': 'busy' } }),
      new Response('<html>', { status: 502 }),
      Response.json({ ...KEY, state: 'Active', permissions: ['api.lookup'], history: [] }),
    ];
    await watchAt(() => answers.shift() as Response, 30_000);
    const ended = () =>
      Response.json({ error: 'Not valid.' }, { status: 401, headers: { 'X-Error-Code': 'invalid_token' } });
    expect(exitCodeOf((await refusal(watchAt(ended, 30_000))).code)).toBe(4);
  });

  test('fails if the approval of a successor did not make the old key expire by then', async () => {
    const successor = { ...KEY, state: 'Active', permissions: ['api.lookup'], successorOf: 'aaaaaaaa', history: [] };
    const watchOld = (expiresAt: string | null) => {
      const old = { ...KEY, identifier: 'aaaaaaaa', state: 'Active', expiresAt, history: [] };
      const show = ({ url }: Request) => Response.json(url.endsWith('aaaaaaaa') ? old : successor);
      return watchAt(show, 300, { ...decision, given: { retireOldAtMs: Date.parse('2126-01-31') } });
    };
    for (const by of ['2126-01-31T00:00:00.000Z', '2126-01-30T00:00:00.000Z']) await watchOld(by);
    for (const late of [null, '2126-01-31T00:00:00.001Z'])
      expect((await refusal(watchOld(late))).message).toContain('is Active, but not with the values given here');
  });

  test('continues when the approval of a successor changes the old key', async () => {
    const entry = { at: KEY.requestedAt, by: 'Grace', event: 'changed', from: 'Active', to: 'Active' };
    const history = [{ ...entry, detail: { changes: {}, successor: 'aaaaaaaa' } }];
    const show = () => Response.json({ ...KEY, state: 'Active', history });
    const change = { ...decision, operation: OPERATIONS.change };
    expect(exitCodeOf((await refusal(watchAt(show, 300, change))).code)).toBe(75);
  });

  test('continues while a mail is being sent, and ends with the latest attempt', async () => {
    const attempt = (number: number, result: string) => ({ number, result, by: 'Grace', startedAt: KEY.requestedAt });
    const entry = { at: KEY.requestedAt, by: 'Grace', from: 'pending', to: 'pending' };
    const failed = { ...entry, event: 'approval refused', detail: { attempt: 1, reason: 'No such mailbox.' } };
    const show = (one: object, history: object[]) => Response.json({ ...KEY, attempt: one, history });
    const answers = [
      show(attempt(2, 'open'), [failed]),
      show(attempt(2, 'not confirmed'), [
        failed,
        { ...entry, event: 'approval not confirmed', detail: { attempt: 2 } },
      ]),
    ];
    const { code, message } = await refusal(watchAt(() => answers.shift() as Response, 30_000));
    expect(exitCodeOf(code)).toBe(75);
    expect(message).toStartWith('Delivery is not confirmed');
    for (const more of [{}, { isTemporary: true }]) {
      const end = { ...failed, detail: { ...failed.detail, ...more } };
      const refused = await refusal(watchAt(() => show(attempt(1, 'refused'), [end]), 30_000));
      const sentence = 'No such mailbox. Key k7Qm2XaB is still pending.';
      expect([exitCodeOf(refused.code), refused.message]).toEqual(['isTemporary' in more ? 75 : 1, sentence]);
    }
    const voided = await refusal(watchAt(() => show(attempt(1, 'voided'), []), 30_000));
    expect(exitCodeOf(voided.code)).toBe(1);
  });
});
