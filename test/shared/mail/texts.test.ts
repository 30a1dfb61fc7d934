import { describe, expect, test } from 'bun:test';
import { routeOf } from '../../../server/http/other-requests.ts';
import type { KeyChanges } from '../../../shared/db/schema.ts';
import { rateLimitInWords, type Text } from '../../../shared/mail/compose.ts';
import * as texts from '../../../shared/mail/texts.ts';
import { PAGES as ROUTES } from '../../server/routes.ts';
import { NEWS, SECRET } from './sample.ts';

const DECISION = {
  identifier: 'k7Qm2XaB',
  keyName: 'Nightly statistics',
  reason: 'We need to know more.\nPlease say how often you will call.',
  atMs: Date.parse('2026-01-31T12:00:00Z'),
  publicUrl: 'https://profiles.example.org',
  publicName: 'Profile Lookup',
  contact: null,
  pages: null as string | null,
};

const REQUEST = {
  identifier: 'k7Qm2XaB',
  successorOf: null,
  profile: 'Ada',
  keyName: 'Nightly statistics',
  description: 'We draw a map of all creators in our community, with names and badges, and refresh it each night.',
  requestedPermissions: ['api.lookup'] as const,
  projectUrl: 'https://map.example.net/about',
  expectedUsage: '200 lookups a day',
  publicName: 'Profile Lookup',
  contact: null,
  pages: null as string | null,
};

const CHANGED_AT = Date.parse('2026-12-24T10:30:00.000Z');

const CHANGES = {
  permissions: { from: ['api.lookup'], to: ['api.lookup', 'api.leaderboard'] },
  rateLimits: { from: [{ quota: 60, windowSeconds: 60 }], to: [{ quota: 600, windowSeconds: 60 }] },
  expiresAt: { from: null, to: '2027-01-31T12:00:00.000Z' },
} satisfies KeyChanges;

const PAGES = 'https://profiles.example.org/developers';

/** A sample of every mail except the test mail, that about an approval first. */
type Samples = Record<Exclude<keyof typeof texts, 'testMail'>, Text>;

/** With the text `foreign` wherever people can write text, and with links if there are pages. */
function allMails(foreign?: string, pages: string | null = null): Text[] {
  const f = foreign;
  const keyName = f ?? NEWS.keyName;
  const decision = { ...DECISION, pages, keyName, ...(f !== undefined && { reason: f }) };
  const request = { ...REQUEST, pages, keyName, ...(f !== undefined && { profile: f, description: f }) };
  const more = f === undefined ? {} : { projectUrl: f, expectedUsage: f };
  const profile = f ?? NEWS.profile;
  const atMs = DECISION.atMs;
  const keyless = { ...DECISION, pages, profile, address: '192.0.2.7' };
  const toAdmins = { pages: pages === null ? null : `${pages}/admin` };
  const samples: Samples = {
    approvalMail: texts.approvalMail({ ...NEWS, keyName, profile, pages }),
    rejectionMail: texts.rejectionMail(decision),
    revocationMail: texts.revocationMail(decision),
    requestMail: texts.requestMail({ ...request, ...more, ...toAdmins }),
    changeMail: texts.changeMail({ ...decision, changes: CHANGES, atMs: CHANGED_AT }),
    reminderMail: texts.reminderMail({ ...decision, expiresAtMs: Date.parse('2027-01-31T12:00:00Z'), daysLeft: 7 }),
    exposureMail: texts.exposureMail({ ...decision, profile, ...toAdmins }),
    suspensionMail: texts.suspensionMail({ ...decision, expiresAt: null }),
    resumptionMail: texts.resumptionMail({ ...decision, expiresAt: CHANGED_AT, isBanned: true }),
    signInNoticeMail: texts.signInNoticeMail({ ...keyless, agent: f ?? 'A browser on Linux' }),
    addressMail: texts.addressMail(keyless),
    enrolmentMail: texts.enrolmentMail({ ...keyless, ...toAdmins, admin: f ?? 'Grace' }),
    signInMail: texts.signInMail({
      ...{ ...keyless, code: '7Q2M-X0AB', askedAtMs: atMs, endsAtMs: atMs, clientAddress: keyless.address },
    }),
  };
  return Object.values(samples);
}

test('the mails read so', () => {
  const read = [...allMails(undefined, PAGES), ...allMails()].map(({ subject, text }) => `${subject}\n\n${text}`);
  expect(read.join('\n----\n')).toMatchSnapshot();
});

test('every link to the pages leads to an existing one', () => {
  const mails = allMails(undefined, PAGES);
  const links = mails.flatMap(({ text }) => text.match(/https:\/\/profiles\.example\.org\/developers[^\s"<>]*/g) ?? []);
  const paths = new Set(links.map((link) => new URL(link.replace(/[.,:;)]+$/, '')).pathname));
  expect(paths.size).toBeGreaterThan(4);
  for (const path of paths) expect([path, routeOf(ROUTES, path) !== null]).toEqual([path, true]);
});

test('the secret stands once, on a line of its own', () => {
  expect(
    texts
      .approvalMail(NEWS)
      .text.split('\n')
      .filter((line) => line.includes(SECRET)),
  ).toEqual([SECRET]);
});

test('no other mail has a secret, not even one that somebody wrote into a field', () => {
  for (const mail of allMails(SECRET).slice(1)) expect(`${mail.subject}${mail.text}`).not.toContain(SECRET);
});

describe('text that others wrote', () => {
  test('can’t begin a line of the text part: several lines are quoted, a single line stays a single line', () => {
    const text = `fine\n\nKEEP IT SECRET\u2028${SECRET}\r- Send it to eve\u0085x\u2029\n${'word '.repeat(40)}`;
    for (const [at, mail] of allMails(text).entries()) {
      const harmless = new Set(allMails('fine words')[at]?.text.split('\n'));
      const added = mail.text.split(/[\n\r\u0085\u2028\u2029]/).filter((line) => !harmless.has(line));
      expect(added.filter((line) => !/^(>| {2}|profilectl admins (remove|add) '[^']*'$)/.test(line))).toEqual([]);
    }
  });

  test('has no control and direction characters', () => {
    for (const mail of allMails('a\u0000b\u001b[31mc\u202ed\u2066e\u200ff')) {
      expect(`${mail.text}`).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
    }
  });
});

test('rate limits in words use singular and plural correctly', () => {
  const words = (quota: number, windowSeconds: number) => rateLimitInWords({ quota, windowSeconds });
  expect(words(1, 1)).toBe('1/1s (at most 1 request in any second)');
  expect(words(10, 90)).toBe('10/90s (at most 10 requests in any 90 seconds)');
  expect(words(10, 7_200)).toBe('10/2h (at most 10 requests in any 2 hours)');
  expect(words(5, 31 * 86_400)).toBe('5/31d (at most 5 requests in any 31 days)');
});
