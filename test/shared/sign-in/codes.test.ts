import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { systemRandom } from '../../../shared/random.ts';
import { newCode, readCode, showCode } from '../../../shared/sign-in/code-text.ts';
import { type Entered, enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { readMail } from '../../support/mail/mime.ts';
import { startSmtp } from '../../support/mail/smtp.ts';
import { CLIENT, countingCodes, testAccess } from '../../support/portal/access.ts';
import { testClock } from '../../support/world.ts';

const MINUTE_MS = 60_000;
const ADA = { id: 1, username: 'ada', aliases: ['Countess'], email: 'Ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** A service with two profiles, an adjustable clock, and codes that the test knows. */
async function world(variables: Record<string, string> = {}) {
  const clock = testClock();
  const codes = countingCodes();
  const access = testAccess({ clock, random: codes.random, variables });
  await importLines(access, [ADA, BOB]);
  const ask = (name = 'ada', address = 'ada@example.org', more: Partial<Parameters<typeof requestCode>[1]> = {}) =>
    requestCode(access, { name, address, browserSecret: null, knownBrowser: null, client: CLIENT, ...more });
  const enter = (browserSecret: string | null, code: string, knownBrowser: string | null = null) =>
    enterCode(access, { browserSecret, code, knownBrowser, client: CLIENT });
  return { access, clock, ask, enter, lastCode: codes.lastCode };
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

  test('stays valid if its browser requests the same again too soon; any other request ends it', async () => {
    const { ask, enter, lastCode, clock } = await world();
    const askTwice = (name: string) => {
      clock.advance(MINUTE_MS);
      const first = ask();
      const code = lastCode();
      return { code, first, again: ask(name, 'Ada@example.org', { browserSecret: first.browserSecret }) };
    };
    const { code, first, again } = askTwice('ＡＤＡ');
    expect(again.browserSecret).not.toBe(first.browserSecret);
    const stranger = ask();
    expect(isIn(enter(stranger.browserSecret, lastCode()))).toBe(false);
    expect(isIn(enter(again.browserSecret, code))).toBe(true);
    // Whether or not the other name belongs to the same profile, and whether or not it was requested too soon.
    for (const name of ['COUNTESS', 'bob', 'nobody']) {
      const other = askTwice(name);
      expect([name, isIn(enter(other.again.browserSecret, other.code))]).toEqual([name, false]);
      expect([name, isIn(enter(other.first.browserSecret, other.code))]).toEqual([name, false]);
    }
  });

  test('is found by the cookie made here, but not by a changed one', async () => {
    const { ask, enter, lastCode } = await world();
    const { browserSecret } = ask();
    const bytes = Buffer.from(browserSecret, 'base64url');
    expect(bytes).toHaveLength(60);
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect([at, isIn(enter(changed.toString('base64url'), lastCode()))]).toEqual([at, false]);
    }
    for (const other of ['', 'x', bytes.subarray(0, 28).toString('base64url'), 'x'.repeat(4_000)]) {
      expect(isIn(enter(other, lastCode()))).toBe(false);
    }
    expect(isIn(enter(browserSecret, lastCode()))).toBe(true);
  });
});

describe('a known browser', () => {
  test('is one in which the owner has signed in within 90 days, under the same address', async () => {
    const { access, ask, enter, lastCode, clock } = await world();
    const signIn = (name: string, address: string, known: string | null) => {
      clock.advance(MINUTE_MS);
      const entered = enter(ask(name, address, { knownBrowser: known }).browserSecret, lastCode(), known);
      if (!entered.isSignedIn) throw new Error('not signed in');
      return entered;
    };
    const first = signIn('ada', 'ada@example.org', null);
    const second = signIn('ada', 'ada@example.org', first.knownBrowser);
    expect(second.isNewBrowser).toBe(false);
    expect(second.knownBrowser).not.toBe(first.knownBrowser);
    expect(signIn('ada', 'ada@example.org', first.knownBrowser).isNewBrowser).toBe(true);
    const both = signIn('bob', 'bob@example.org', second.knownBrowser);
    expect(both.isNewBrowser).toBe(true);
    const ada = signIn('ada', 'ada@example.org', both.knownBrowser);
    expect(ada.isNewBrowser).toBe(false);
    clock.advance(89 * DAY_MS);
    const late = signIn('ada', 'ada@example.org', ada.knownBrowser);
    expect(late.isNewBrowser).toBe(false);
    await importLines(access, [{ ...ADA, email: 'other@example.org' }]);
    const moved = signIn('ada', 'other@example.org', late.knownBrowser);
    expect(moved.isNewBrowser).toBe(true);
    clock.advance(91 * DAY_MS);
    const longAfter = signIn('ada', 'other@example.org', moved.knownBrowser);
    expect(longAfter.isNewBrowser).toBe(true);
    eraseProfile(access, 'ada', onBox('operator'));
    await importLines(access, [{ ...ADA, email: 'other@example.org' }]);
    expect(signIn('ada', 'other@example.org', longAfter.knownBrowser).isNewBrowser).toBe(true);
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
});
