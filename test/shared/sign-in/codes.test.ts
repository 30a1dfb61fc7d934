import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { DAY_MS } from '../../../shared/clock.ts';
import { readFact } from '../../../shared/db/facts.ts';
import { systemRandom } from '../../../shared/random.ts';
import {
  type CodeRequest,
  createCodeDesk,
  type Entered,
  enterCode,
  newCode,
  readCode,
  requestCode,
  showCode,
} from '../../../shared/sign-in/codes.ts';
import { readSignIn } from '../../../shared/sign-in/sessions.ts';
import { countEvent } from '../../../shared/throttle.ts';
import { waitingWhile } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { CLIENT, countingCodes, countRows } from '../../support/people.ts';
import { importLines, insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { testClock, testDeps } from '../../support/world.ts';
import { readMail } from '../mail/sample.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const ADA = { id: 1, username: 'ada', aliases: ['Countess'], email: 'Ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** A service with two profiles, an adjustable clock, and codes that the test knows. */
async function world(variables: Record<string, string> = {}) {
  const clock = testClock();
  const codes = countingCodes();
  const access = testDeps({ clock, random: codes.random, variables });
  await importLines(access, [ADA, BOB]);
  const desk = createCodeDesk(clock);
  const ask = (name = 'ada', address = 'ada@example.org', more: Partial<CodeRequest> = {}) =>
    requestCode(access, desk, { name, address, browserSecret: null, client: CLIENT, ...more });
  const enter = (browserSecret: string | null, code: string) =>
    enterCode(access, { browserSecret, code, client: CLIENT });
  /** An address in a network of its own. */
  let networks = 0;
  const elsewhere = () => ({ client: { ...CLIENT, address: `2001:db8:${(++networks).toString(16)}::1` } });
  return { access, clock, desk, ask, enter, elsewhere, lastCode: codes.lastCode };
}

const isIn = (entered: Entered) => entered.isSignedIn;

describe('a code', () => {
  test('is 40 random bits in Crockford base32, all equally likely', () => {
    expect(newCode(() => new Uint8Array(5))).toBe('00000000');
    expect(newCode(() => new Uint8Array(5).fill(255))).toBe('ZZZZZZZZ');
    expect(newCode(() => Uint8Array.of(0x08, 0x86, 0x42, 0x98, 0xe8))).toBe('12345678');
    const seen = Array.from({ length: 2_000 }, () => newCode(systemRandom)).join('');
    expect(new Set(seen).size).toBe(32);
    expect(seen).toMatch(/^[0-9A-HJKMNP-TV-Z]+$/);
  });

  test('is shown in two halves and parsed leniently', () => {
    expect(showCode('7Q2MX0A1')).toBe('7Q2M-X0A1');
    for (const typed of ['7Q2M-X0A1', '7q2mx0a1', ' 7q2m xoal ', '7Q2M–XOAI', '７Ｑ２Ｍ-X0A1', '7-Q-2-M-X-O-A-i']) {
      expect(readCode(typed)).toBe('7Q2MX0A1');
    }
    for (const typed of ['', '7Q2M-X0A', '7Q2M-X0A12', '7Q2M-X0AU', '7Q2M_X0A1', `7Q2MX0A1${' '.repeat(100)}`]) {
      expect(readCode(typed)).toBeNull();
    }
  });

  test('is not tried by text that can’t be a code', async () => {
    const { ask, enter, lastCode } = await world();
    const { browserSecret } = ask();
    for (let turn = 0; turn < 9; turn++) {
      expect(enter(browserSecret, 'hello')).toEqual({ isSignedIn: false, why: 'malformed' });
    }
    expect(isIn(enter(browserSecret, lastCode()))).toBe(true);
  });

  test('works once, for ten minutes and five tries, only in the browser that asked for it', async () => {
    const { access, ask, enter, lastCode, clock } = await world();
    const { browserSecret } = ask();
    const code = lastCode();
    const other = ask('bob', BOB.email).browserSecret;
    for (const wrong of [null, other, 'x', 'x'.repeat(4_000)]) expect(isIn(enter(wrong, code))).toBe(false);
    const entered = enter(browserSecret, code);
    expect(entered.isSignedIn && readSignIn(access, entered.token)?.profileId).toBe(1);
    expect(isIn(enter(browserSecret, code))).toBe(false);

    const late = ask().browserSecret;
    clock.advance(10 * MINUTE_MS);
    expect(isIn(enter(late, lastCode()))).toBe(false);

    clock.advance(HOUR_MS);
    for (const tries of [4, 5]) {
      const tried = ask().browserSecret;
      for (let n = 0; n < tries; n++) expect(isIn(enter(tried, 'ZZZZ-ZZZZ'))).toBe(false);
      expect(isIn(enter(tried, lastCode()))).toBe(tries < 5);
    }
  });

  test('of a browser is replaced by its next request; one that exceeds a limit leaves it as it is', async () => {
    const { ask, enter, lastCode } = await world();
    const { browserSecret } = ask();
    const first = lastCode();
    expect(ask('bob', BOB.email, { browserSecret }).browserSecret).toBe(browserSecret);
    expect(isIn(enter(browserSecret, first))).toBe(false);
    ask('ada', ADA.email, { browserSecret });
    const third = lastCode();
    ask();
    // The fourth within an hour.
    expect(await ask('ada', ADA.email, { browserSecret }).mail()).toBeNull();
    expect(isIn(enter(browserSecret, lastCode()))).toBe(false);
    expect(isIn(enter(browserSecret, third))).toBe(true);
  });
});

describe('requests for codes, matching or not,', () => {
  test('are limited to 3 an hour and 10 a day for a profile from one network (naive counter)', async () => {
    const names: [string, string][] = [
      ['ada', '1'],
      ['ADA', '1'],
      [' ａｄａ ', '1'],
      ['countess', '1'],
      ['nobody', 'nobody'],
      ['NOBODY', 'nobody'],
    ];
    const clients: [string, string][] = [
      ['192.0.2.1', 'a'],
      ['192.0.2.2', 'b'],
      ['2001:db8:1:1::1', 'c'],
      ['2001:0DB8:0001:1:ffff::2', 'c'],
      ['2001:db8:1:2::', 'd'],
    ];
    const step = fc.record({
      name: fc.constantFrom(...names),
      address: fc.constantFrom('ada@example.org', 'else@example.org'),
      client: fc.constantFrom(...clients),
      pauseMs: fc.constantFrom(0, 1, MINUTE_MS, 20 * MINUTE_MS, HOUR_MS + 1, 8 * HOUR_MS),
    });
    const { access, clock } = await world();
    await fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
        clock.advance(2 * DAY_MS);
        const desk = createCodeDesk(clock);
        const made: { of: string; from: string; at: number }[] = [];
        for (const { name, address, client, pauseMs } of steps) {
          clock.advance(pauseMs);
          const at = clock.monotonicMs();
          const [of, from] = [name[1], client[1]];
          const within = (ms: number) => made.filter((one) => one.of === of && at - one.at <= ms);
          const here = (ms: number) => within(ms).filter((one) => one.from === from).length;
          const isAllowed = here(HOUR_MS) < 3 && here(DAY_MS) < 10 && within(DAY_MS).length < 30;
          if (isAllowed) made.push({ of, from, at });
          access.db.$client.run('DELETE FROM tickets');
          const from64 = { address: client[0], agent: '' };
          requestCode(access, desk, { name: name[0], address, browserSecret: null, client: from64 });
          expect(countRows(access.db, "tickets WHERE kind = 'code'")).toBe(isAllowed ? 1 : 0);
        }
      }),
      { numRuns: rounds(5), interruptAfterTimeLimit: 20_000 },
    );
  }, 30_000);

  test('are limited to 30 a day for a profile, from wherever they come', async () => {
    const { ask, access, clock, elsewhere } = await world();
    for (let n = 0; n < 40; n++) ask('ada', 'x@example.org', elsewhere());
    expect(countRows(access.db, "tickets WHERE kind = 'code'")).toBe(30);
    ask('bob', 'x@example.org', elsewhere());
    clock.advance(DAY_MS + 1);
    ask('ada', 'x@example.org', elsewhere());
    expect(countRows(access.db, "tickets WHERE kind = 'code'")).toBe(32);
  });

  test('in a flood of unknown names, are mailed no more often, and tell no browser whether they matched', async () => {
    const { ask, access, enter, clock, desk, elsewhere, lastCode } = await world();
    for (const address of ['ada@example.org', 'else@example.org']) {
      const { browserSecret } = ask('bob', BOB.email, elsewhere());
      const code = lastCode();
      access.db.$client.transaction(() => {
        for (let n = 0; n < 601; n++) ask(`stranger${n}`, `x${n}@example.org`, elsewhere());
      })();
      const unmatched = 'SELECT count(*) AS n FROM tickets WHERE profile_id IS NULL';
      expect(access.db.$client.query(unmatched).get()).toEqual({ n: 600 });
      const fromOne = elsewhere();
      for (let n = 0; n < 3; n++) ask('ada', address, { ...fromOne, browserSecret });
      expect(isIn(enter(browserSecret, code))).toBe(false);
      const other = ask('bob', BOB.email, elsewhere()).browserSecret;
      const own = lastCode();
      ask('ada', 'else@example.org', { ...fromOne, browserSecret: other });
      expect(isIn(enter(other, own))).toBe(true);
    }
    for (let turn = 0; turn < 2; turn++) {
      for (let n = 0; n < 40; n++) await ask('ada', 'ada@example.org', elsewhere()).mail();
      // So many that the throttle remembers no other. What was mailed is remembered beside all that can be mailed in a day.
      for (const throttle of [desk.requests.perProfile, ...desk.requests.perNetwork]) {
        for (let n = 0; n < 2_048; n++) countEvent(throttle, `name stranger${n}`);
      }
      for (const throttle of [desk.mailed.perProfile, ...desk.mailed.perNetwork]) {
        for (let n = 0; n < 10_000; n++) countEvent(throttle, `${1_000 + n}`);
      }
      for (let n = 0; n < 4; n++) await ask('bob', BOB.email).mail();
    }
    // To Ada 30, and to Bob 3, because those came from one network.
    expect(readdirSync(join(access.folder, 'mail'))).toHaveLength(33);
    clock.advance(DAY_MS + 1);
    await ask('ada', 'ada@example.org', elsewhere()).mail();
    expect(readdirSync(join(access.folder, 'mail'))).toHaveLength(34);
  });

  test('find the address that the profile has once the lock is free', async () => {
    const { access, desk, enter, lastCode } = await world();
    const importing = waitingWhile(access, () => {
      access.db.$client.run("UPDATE profiles SET email = 'new@example.org' WHERE id = 1");
    });
    const typed = { name: 'ada', address: 'ada@example.org', browserSecret: null, client: CLIENT };
    const { browserSecret, mail } = requestCode(importing, desk, typed);
    expect([await mail(), existsSync(join(access.folder, 'mail'))]).toEqual([null, false]);
    expect(isIn(enter(browserSecret, lastCode()))).toBe(false);
  });
});

describe('the mail', () => {
  test('goes to the address on file, and says who requested it, until when the code works, and on which page', async () => {
    const smtp = await startSmtp();
    const { ask, lastCode } = await world({
      MAIL_URL: smtp.url,
      MAIL_FROM: 'service@example.org',
      PUBLIC_URL: 'https://bio.example.org',
    });
    const { mail } = ask('countess', 'ada@example.org');
    expect(smtp.received).toEqual([]);
    expect(await mail()).toBeNull();
    const [received] = smtp.received;
    expect(received?.to).toEqual(['Ada@example.org']);
    const { text, headers } = readMail(received?.raw ?? '');
    expect(text).toContain(`\n${showCode(lastCode())}\n`);
    expect(text).toMatch(/\n +Profile +ada\n/);
    expect(text).toContain('192.0.2.7');
    expect(text).toContain('once, until 2026-01-01 00:10:00 UTC');
    expect(text).toMatch(/\n +Requested +2026-01-01 00:00:00 UTC\n/);
    expect(text).toContain('https://bio.example.org/developers/sign-in/code');
    expect(text).toContain('If it was not you, ignore this e-mail');
    expect(JSON.stringify([...headers])).not.toContain(showCode(lastCode()));
  });

  test('that is not accepted is reported in a sentence without address and code', async () => {
    const smtp = await startSmtp({ failures: { rcpt: '550 5.1.1 <Ada@example.org> unknown' } });
    const { ask } = await world({ MAIL_URL: smtp.url, MAIL_FROM: 'service@example.org' });
    const fault = await ask().mail();
    expect(fault).toStartWith('A sign-in mail was not delivered. The mail server');
    expect(fault?.toLowerCase()).not.toContain('ada@');
  });

  test('is not sent if MAIL_URL is not set', async () => {
    const { ask } = await world({ MAIL_URL: '' });
    expect(await ask().mail()).toBe('A sign-in mail was not sent: MAIL_URL is not set.');
  });

  test('is one of at most 1 000 an hour; more are held back, which the log and the status say, but no response', async () => {
    const { access, ask, clock, elsewhere } = await world({ MAIL_URL: '' });
    access.db.$client.transaction(() => {
      for (let id = 10; id <= 1_010; id++) insertProfile(access.db, { id });
    })();
    const mailTo = (n: number) => ask(`user${n}`, `owner${n}@example.org`, elsewhere()).mail();
    for (let n = 10; n < 1_010; n++) expect(await mailTo(n)).toContain('MAIL_URL');
    const limit = 'A sign-in mail was not sent: 1000 were sent in the last hour, which is the limit.';
    expect(await mailTo(1_010)).toBe(limit);
    expect(await ask('user1010', 'else@example.org', elsewhere()).mail()).toBeNull();
    expect(readFact(access.db.$client, 'sign-in mails held back at')).toBe(`${clock.nowMs()}`);
    clock.advance(HOUR_MS + 1);
    expect(await mailTo(1_010)).toContain('MAIL_URL');
  }, 20_000);

  test('waits its turn while the mail server answers nobody, and others are left out', async () => {
    const { access, ask, desk, elsewhere } = await world();
    for (let id = 10; id < 70; id++) insertProfile(access.db, { id });
    const gate = Promise.withResolvers<void>();
    let sending = 0;
    let most = 0;
    const accepted = { outcome: 'accepted', reply: '' } as const;
    access.mailer = async () => ({
      send: async () => {
        most = Math.max(most, ++sending);
        await gate.promise;
        sending--;
        return accepted as never;
      },
    });
    const mails = Array.from({ length: 60 }, (_, n) =>
      ask(`user${n + 10}`, `owner${n + 10}@example.org`, elsewhere()).mail(),
    );
    await Bun.sleep(1);
    expect(await ask('nobody', 'x@example.org', elsewhere()).mail()).toBeNull();
    gate.resolve();
    await Promise.all(mails);
    expect([most, desk.sending, desk.waiting]).toEqual([20, 0, []]);
  });
});
