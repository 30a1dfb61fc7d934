import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { KeyChanges } from '../../../shared/db/schema/keys.ts';
import type { Mail } from '../../../shared/mail/mail.ts';
import { exposureMail, requestMail, requestsMail } from '../../../shared/mail-texts/admin-mails.ts';
import { changeMail } from '../../../shared/mail-texts/change-mail.ts';
import { rateLimitInWords } from '../../../shared/mail-texts/mail-wording.ts';
import { approvalMail, rejectionMail, revocationMail } from '../../../shared/mail-texts/mails.ts';
import { renamingMail, submissionMail } from '../../../shared/mail-texts/owner-mails.ts';
import { addressMail, banMail, enrolmentMail, newSignInMail } from '../../../shared/mail-texts/people-mails.ts';
import { reminderMail } from '../../../shared/mail-texts/reminder-mail.ts';
import { signInMail } from '../../../shared/mail-texts/sign-in-mail.ts';
import { resumptionMail, suspensionMail } from '../../../shared/mail-texts/suspension-mails.ts';
import { rounds } from '../../support/rounds.ts';
import { NEWS, SECRET, TO } from '../mail/sample.ts';

const DECISION = {
  to: TO,
  identifier: 'k7Qm2XaB',
  keyName: 'Nightly statistics',
  reason: 'We need to know more.\nPlease say how often you will call.',
  isOwnDoing: false,
  atMs: Date.parse('2026-01-31T12:00:00Z'),
  publicUrl: 'https://profiles.example.org',
  publicName: 'Profile Lookup',
  contact: null,
  pages: null as string | null,
};

const REQUEST = {
  to: 'admin@example.org',
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

/** Every mail except the test mail, with the text `foreign` wherever people can write text, and with links if there are pages. */
function allMails(foreign?: string, pages: string | null = null): Mail[] {
  const f = foreign;
  const keyName = f ?? NEWS.keyName;
  const decision = { ...DECISION, pages, keyName, ...(f !== undefined && { reason: f }) };
  const request = { ...REQUEST, pages, keyName, ...(f !== undefined && { profile: f, description: f }) };
  const more = f === undefined ? {} : { projectUrl: f, expectedUsage: f };
  const profile = f ?? NEWS.profile;
  return [
    approvalMail({ ...NEWS, keyName, profile, pages }),
    rejectionMail(decision),
    revocationMail(decision),
    revocationMail({ ...decision, isOwnDoing: true }),
    requestMail({ ...request, ...more }),
    changeMail({ ...decision, changes: CHANGES, atMs: CHANGED_AT }),
    reminderMail({ ...decision, expiresAtMs: Date.parse('2027-01-31T12:00:00Z'), daysLeft: 7 }),
    submissionMail(decision),
    renamingMail({ ...decision, nameBefore: keyName, nameAfter: keyName }),
    exposureMail({ ...decision, profile }),
    suspensionMail({ ...decision, expiresAt: null }),
    resumptionMail({ ...decision, expiresAt: CHANGED_AT, isBanned: true }),
    ...mailsWithoutKey(f, pages),
    requestsMail({ ...request, requests: [{ ...request, ...more }, request] }),
  ];
}

/** Mails whose subject names no key. */
function mailsWithoutKey(foreign?: string, pages: string | null = null): Mail[] {
  const news = { ...DECISION, pages, profile: foreign ?? NEWS.profile, address: '192.0.2.7' };
  return [
    newSignInMail({ ...news, agent: foreign ?? 'A browser on Linux' }),
    addressMail(news),
    enrolmentMail({ ...news, admin: foreign ?? 'Grace' }),
    banMail({ ...news, isBanned: true, keys: ['k7Qm2XaB'] }),
    banMail({ ...news, isBanned: false, keys: ['k7Qm2XaB'] }),
    signInMail({ ...news, code: '7Q2M-X0AB', askedAtMs: news.atMs, endsAtMs: news.atMs, clientAddress: news.address }),
  ];
}

describe('the approval mail has everything that its reader needs, in both parts', () => {
  const mail = approvalMail(NEWS);
  const parts = [mail.text, visibleText(mail.html ?? '')];

  test('the secret once, on its own line', () => {
    for (const part of [mail.text, mail.html ?? '']) {
      expect(part.split('\n').filter((line) => line.includes('plk_'))).toEqual([SECRET]);
    }
  });

  for (const [what, words] of [
    ['identifier and name', ['k7Qm2XaB', 'Nightly statistics']],
    ['permissions granted and requested', ['api.lookup (profiles and their links)', 'api.lookup, api.leaderboard']],
    ['rate limits', ['60/1m (at most 60 requests in any minute)', '5000/1d (at most 5000 requests in any day)']],
    ['expiry', ['2027-01-31 12:00:00 UTC']],
    ['how to keep it', ['password manager', 'client-side code', 'repository']],
    ['that it voids earlier ones', ['A secret in an earlier e-mail about this key no longer works.']],
    ['how to get another', ['cannot be sent again', 'Request a replacement']],
    ['where the documentation is', ['https://profiles.example.org/docs']],
  ] as const) {
    test(what, () => {
      for (const part of parts) {
        for (const word of words) expect(part.replace(/\s+/g, ' ')).toContain(word);
      }
    });
  }

  test('a key that does not expire says so', () => {
    expect(approvalMail({ ...NEWS, expiresAtMs: null }).text).toMatch(/Expires +never; it works until it is revoked/);
  });
});

describe('the approval mail of a successor says what happens to the old key', () => {
  const before = { identifier: 'p3Zt9QwE', endsAtMs: null, isOver: false, isSuspended: false };
  const text = (predecessor: object) =>
    approvalMail({ ...NEWS, predecessor: { ...before, ...predecessor } }).text.replace(/\s+/g, ' ');

  test.each([
    ['it stays', {}, 'This key replaces your key p3Zt9QwE. Both keys work. Give'],
    [
      'it will end',
      { endsAtMs: Date.parse('2027-01-01T00:00:00Z') },
      'work until 2027-01-01 00:00:00 UTC, when p3Zt9QwE expires',
    ],
    ['it has ended', { isOver: true, endsAtMs: Date.parse('2026-01-01T00:00:00Z') }, 'Key p3Zt9QwE no longer works.'],
    ['it is suspended', { isSuspended: true }, 'Key p3Zt9QwE is suspended, so requests that use it are refused.'],
    [
      'it is suspended and will end',
      { isSuspended: true, endsAtMs: Date.parse('2027-01-01T00:00:00Z') },
      'refused; it expires at 2027-01-01 00:00:00 UTC.',
    ],
  ])('%s', (_what, predecessor, words) => {
    expect(text(predecessor)).toContain(words);
  });
});

describe('the other mails', () => {
  test('a rejection and a revocation have the reason', () => {
    for (const mail of [rejectionMail(DECISION), revocationMail(DECISION)]) {
      expect(mail.text).toContain('\n> We need to know more.\n> Please say how often you will call.\n');
      expect(mail.html).toContain(DECISION.reason);
      expect(mail.text).toMatch(/Name +Nightly statistics\n/);
    }
  });

  test('a change has old and new values, and no unchanged ones', () => {
    const text = (changes: KeyChanges) =>
      changeMail({ ...DECISION, changes, atMs: CHANGED_AT }).text.replace(/\s+/g, ' ');
    const all = text(CHANGES);
    for (const words of [
      'Permissions, before api.lookup Permissions, after api.lookup api.leaderboard',
      'Rate limits, before 60/1m (at most 60 requests in any minute) Rate limits, after 600/1m (at most 600 requests',
      'Expires, before never; it works until it is revoked Expires, after 2027-01-31 12:00:00 UTC',
      'was changed at 2026-12-24 10:30:00 UTC. The change applies from that moment on',
      'still count against',
    ]) {
      expect(all).toContain(words);
    }
    const { permissions, expiresAt } = CHANGES;
    expect(text({ permissions })).not.toMatch(/Rate limits|Expires|counts on/);
    expect(text({ expiresAt })).not.toMatch(/Rate limits|Permissions|counts on/);
  });

  test('a reminder says when, and what to do', () => {
    const news = { ...DECISION, expiresAtMs: Date.parse('2027-01-31T12:00:00Z') };
    const { text } = reminderMail({ ...news, daysLeft: 30 });
    for (const words of [
      'in 30 days',
      '2027-01-31 12:00:00 UTC',
      'Nightly statistics',
      'request a replacement the way you requested this key',
    ]) {
      expect(text.replace(/\s+/g, ' ')).toContain(words);
    }
    expect(reminderMail({ ...news, daysLeft: 1 }).text).toContain('within a day');
  });

  test('a request has everything that its owner wrote, and says how to decide', () => {
    const { text } = requestMail(REQUEST);
    expect(text).toMatch(/Profile +Ada\n/);
    for (const words of ['api.lookup', REQUEST.projectUrl, '> 200 lookups a day', 'profilectl keys approve k7Qm2XaB']) {
      expect(text).toContain(words);
    }
    const short = requestMail({ ...REQUEST, projectUrl: null, expectedUsage: null }).text;
    expect(short).not.toMatch(/Project|Expected usage|Successor/);
    expect(requestMail({ ...REQUEST, successorOf: 'p3Zt9QwE' }).text).toMatch(/Replaces +p3Zt9QwE\n/);
  });

  test('have no secret, not even one that somebody wrote into a field', () => {
    for (const mail of allMails(`leaked: ${SECRET}!`).slice(1)) {
      expect(`${mail.subject}${mail.text}${mail.html}`).not.toContain(SECRET);
      expect(mail.text).toContain('plk_k7Qm2XaB_[removed]');
    }
  });

  test('at most 50 requests are listed in one mail, with names and permissions', () => {
    const some = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...REQUEST, identifier: `key000${at + 10}` }));
    const mail = requestsMail({ ...REQUEST, requests: some(3) });
    expect(mail.subject).toBe('3 API key requests are waiting for a decision');
    for (const { identifier } of some(3)) expect(mail.text).toMatch(new RegExp(`Identifier +${identifier}\n`));
    expect(mail.text).toContain('profilectl keys approve\n');
    const many = requestsMail({ ...REQUEST, requests: some(52) }).text;
    expect(many.match(/Identifier +/g)).toHaveLength(50);
    expect(many).toContain('2 more are not listed here.');
  });

  test('a renaming has both names, and a sign-in its time, IP address and browser', () => {
    const { text } = renamingMail({ ...DECISION, nameBefore: 'Old', nameAfter: 'New' });
    expect(text).toMatch(/Name, before +Old\n +Name, now +New\n +When +2026-01-31 12:00:00 UTC\n/);
    const [signIn, address, enrolment] = mailsWithoutKey();
    expect(signIn?.text).toMatch(/When +2026-01-31 12:00:00 UTC\n +From +192\.0\.2\.7\n +With +A browser on Linux\n/);
    expect(enrolment?.text).toContain('profilectl admins remove Grace\n');
    expect(address?.text).toMatch(/Profile +Ada\n +When +2026-01-31/);
  });

  test('an admin’s name can’t add anything to the command that removes them', () => {
    const name = "G'; rm -rf ~ #";
    const { text } = enrolmentMail({ ...DECISION, admin: name, address: '192.0.2.7' });
    const [command] = /profilectl admins remove .*/.exec(text) ?? [];
    expect(Bun.spawnSync(['sh', '-c', `printf '%s|' ${command}`]).stdout.toString()).toBe(
      `profilectl|admins|remove|${name}|`,
    );
  });
});

describe('every mail', () => {
  test('has a subject without text from others, with the identifier if it is about one key', () => {
    for (const mail of allMails('Eve\r\nBcc: x')) {
      expect(mail.subject).toMatch(mail.identifier === '' ? /^[A-Za-z0-9 ,-]+$/ : /^[A-Za-z ]+k7Qm2XaB[A-Za-z ]+$/);
    }
  });

  test('has text lines of at most 72 characters, except what is to be copied', () => {
    for (const mail of allMails(undefined, PAGES)) {
      const long = mail.text.split('\n').filter((line) => line.length > 72);
      expect(long.every((line) => line.includes('curl') || line.includes(`: ${PAGES}/`))).toBe(true);
    }
  });

  test('has each command that changes something in a separate block, since a block is pasted as a whole', () => {
    const changing = /^profilectl \w+ (?!show|usage)/gm;
    const blocks = allMails().flatMap(({ html }) => [...(html ?? '').matchAll(/<pre>([^<]*)<\/pre>/g)]);
    const counts = blocks.map(([, text = '']) => text.match(changing)?.length ?? 0);
    expect([Math.max(...counts), counts.filter((count) => count === 1).length]).toEqual([1, 4]);
  });

  test('loads nothing, runs nothing, and links only to our own documentation', () => {
    for (const mail of allMails()) {
      expect(mail.html).not.toMatch(/<(script|img|link|iframe|form|object|svg)|\ssrc=|url\(|@import|\son\w+=/i);
      expect(linksOf(mail)).toEqual(mail.kind === 'approval' ? ['https://profiles.example.org/docs'] : []);
    }
  });

  test('links to the pages on which its reader can act, if there are pages, except to a former address', () => {
    const paths = allMails(undefined, PAGES).map((mail) => [
      mail.kind,
      ...linksOf(mail).flatMap((link) => (link.startsWith(PAGES) ? link.slice(PAGES.length) : [])),
    ]);
    const key = '/keys/k7Qm2XaB';
    expect(paths).toEqual([
      ['approval', key],
      ['rejection', '/keys/new?like=k7Qm2XaB'],
      ['revocation', '/keys/new?like=k7Qm2XaB'],
      ['revocation', '/keys/new?like=k7Qm2XaB', '/sessions'],
      ['request', key],
      ['change', key],
      ['reminder', '/keys/new?successor-of=k7Qm2XaB', key],
      ['submission', key, '/sessions'],
      ['renaming', key, '/sessions'],
      ['exposure', key],
      ['suspension', key],
      ['resumption', key],
      ['new-sign-in', '/sessions'],
      ['address'],
      ['enrolment', '/people'],
      ['ban', '/keys'],
      ['ban', '/keys'],
      ['sign-in'],
      ['request', ''],
    ]);
  });

  test('has the URL of each link in its text part too', () => {
    for (const mail of allMails(undefined, PAGES)) {
      for (const link of linksOf(mail)) expect(mail.text).toContain(link);
    }
  });
});

describe('text that others wrote', () => {
  const elements = allMails().map(elementsOf);

  test('can’t add an element or attribute to the HTML', () => {
    expect(elements[0]).toContain('a href');
    const hostile = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '</blockquote><script>x</script>',
        '"><img src=x onerror=y>',
        "' onclick='",
        '<!--',
        '&lt;b&gt;',
        ']]>',
      ),
    );
    fc.assert(
      fc.property(hostile, (text) => {
        expect(allMails(text).map(elementsOf)).toEqual(elements);
      }),
      { numRuns: rounds(60) },
    );
  });

  test('can’t begin a line of the text part: several lines are quoted, a single line stays a single line', () => {
    const text = `fine\n\nKEEP IT SECRET\u2028${SECRET}\r- Send it to eve\u0085x\u2029\n${'word '.repeat(40)}`;
    for (const [at, mail] of allMails(text).entries()) {
      const harmless = new Set(allMails('fine words')[at]?.text.split('\n'));
      const added = mail.text.split(/[\n\r\u0085\u2028\u2029]/).filter((line) => !harmless.has(line));
      expect(added.filter((line) => !/^(>| {2}|profilectl admins remove '[^']*'$)/.test(line))).toEqual([]);
    }
  });

  test('has no control and direction characters', () => {
    for (const mail of allMails('a\u0000b\u001b[31mc\u202ed\u2066e\u200ff')) {
      expect(`${mail.text}${mail.html}`).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
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

function linksOf({ html }: Mail): string[] {
  return [...(html ?? '').matchAll(/href="([^"]*)"/g)].map((match) => (match[1] ?? '').replaceAll('&amp;', '&'));
}

function visibleText(html: string): string {
  const body = html.slice(html.indexOf('<main>')).replace(/<[^>]*>/g, ' ');
  return body.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#x27;', "'");
}

function elementsOf(mail: Mail): string[] {
  const found: string[] = [];
  const rewriter = new HTMLRewriter().on('*', {
    element(element) {
      found.push([element.tagName, ...[...element.attributes].map(([name]) => name)].join(' '));
    },
  });
  rewriter.transform(mail.html ?? '');
  return found;
}
