import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { KeyChanges } from '../../../shared/db/schema.ts';
import { changeMail } from '../../../shared/keys/change-mail.ts';
import { rateLimitInWords } from '../../../shared/keys/mail-wording.ts';
import { approvalMail, rejectionMail, requestMail, revocationMail } from '../../../shared/keys/mails.ts';
import type { Mail } from '../../../shared/mail/mail.ts';
import { reminderMail } from '../../../shared/notices/reminder-mail.ts';
import { NEWS, SECRET, TO } from '../mail/sample.ts';

const DECISION = {
  to: TO,
  identifier: 'k7Qm2XaB',
  keyName: 'Nightly statistics',
  reason: 'We need to know more.\nPlease say how often you will call.',
  publicUrl: 'https://profiles.example.org',
  contact: null,
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
  contact: null,
};

const CHANGED_AT = Date.parse('2026-12-24T10:30:00.000Z');

const CHANGES = {
  permissions: { from: ['api.lookup'], to: ['api.lookup', 'api.leaderboard'] },
  rateLimits: { from: [{ quota: 60, windowSeconds: 60 }], to: [{ quota: 600, windowSeconds: 60 }] },
  expiresAt: { from: null, to: '2027-01-31T12:00:00.000Z' },
} satisfies KeyChanges;

function allMails(foreign?: string): Mail[] {
  const f = foreign;
  const keyName = f ?? NEWS.keyName;
  const decision = f === undefined ? DECISION : { ...DECISION, keyName, reason: f };
  const request = f === undefined ? {} : { profile: f, description: f, projectUrl: f, expectedUsage: f };
  return [
    approvalMail({ ...NEWS, keyName, profile: f ?? NEWS.profile }),
    rejectionMail(decision),
    revocationMail(decision),
    requestMail({ ...REQUEST, keyName, ...request }),
    changeMail({ ...DECISION, keyName, changes: CHANGES, at: CHANGED_AT }),
    reminderMail({ ...DECISION, keyName, expiresAtMs: Date.parse('2027-01-31T12:00:00Z'), daysLeft: 7 }),
  ];
}

describe('the approval mail has all that its reader needs, in both parts', () => {
  const mail = approvalMail(NEWS);
  const parts = [mail.text, visibleText(mail.html ?? '')];

  test('the secret, once, on a line of its own', () => {
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
    ['that it voids earlier ones', ['voids every secret that an earlier mail gave for this key']],
    ['how to get another', ['cannot be retrieved', 'Request a new key']],
    ['where the documentation is', ['https://profiles.example.org/docs']],
  ] as const) {
    test(what, () => {
      for (const part of parts) {
        for (const word of words) expect(part.replace(/\s+/g, ' ')).toContain(word);
      }
    });
  }

  test('a key that does not expire says so', () => {
    expect(approvalMail({ ...NEWS, expiresAtMs: null }).text).toMatch(/Expires +never, unless it is revoked/);
  });
});

describe('the approval mail of a successor says what becomes of the key before it', () => {
  const before = { identifier: 'p3Zt9QwE', endsAtMs: null, isOver: false };
  const text = (predecessor: object) =>
    approvalMail({ ...NEWS, predecessor: { ...before, ...predecessor } }).text.replace(/\s+/g, ' ');

  test.each([
    ['it goes on', {}, 'successor of your key p3Zt9QwE. Both keys work. Put'],
    [
      'it will end',
      { endsAtMs: Date.parse('2027-01-01T00:00:00Z') },
      'work until 2027-01-01 00:00:00 UTC, when p3Zt9QwE ends',
    ],
    ['it is over', { isOver: true, endsAtMs: Date.parse('2026-01-01T00:00:00Z') }, 'Key p3Zt9QwE has ended already.'],
  ])('%s', (_what, predecessor, words) => {
    expect(text(predecessor)).toContain(words);
  });
});

describe('the other mails', () => {
  test('a rejection and a revocation carry the reason', () => {
    for (const mail of [rejectionMail(DECISION), revocationMail(DECISION)]) {
      expect(mail.text).toContain('\n> We need to know more.\n> Please say how often you will call.\n');
      expect(mail.html).toContain(DECISION.reason);
      expect(mail.text).toMatch(/Name +Nightly statistics\n/);
    }
  });

  test('a change says from what to what, and nothing of what stays', () => {
    const text = (changes: KeyChanges) =>
      changeMail({ ...DECISION, changes, at: CHANGED_AT }).text.replace(/\s+/g, ' ');
    const all = text(CHANGES);
    for (const words of [
      'Permissions, before api.lookup Permissions, after api.lookup api.leaderboard',
      'Rate limits, before 60/1m (at most 60 requests in any minute) Rate limits, after 600/1m (at most 600 requests',
      'Expires, before never, unless it is revoked Expires, after 2027-01-31 12:00:00 UTC',
      'was changed at 2026-12-24 10:30:00 UTC, and holds since then',
      'counts on',
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
    for (const words of ['in 30 days', '2027-01-31 12:00:00 UTC', 'Nightly statistics', 'request a new key']) {
      expect(text.replace(/\s+/g, ' ')).toContain(words);
    }
    expect(reminderMail({ ...news, daysLeft: 1 }).text).toContain('within a day');
  });

  test('a request carries all that was said, and how to decide on it', () => {
    const { text } = requestMail(REQUEST);
    expect(text).toMatch(/Profile +Ada\n/);
    for (const words of ['api.lookup', REQUEST.projectUrl, '> 200 lookups a day', 'profilectl keys approve k7Qm2XaB']) {
      expect(text).toContain(words);
    }
    const short = requestMail({ ...REQUEST, projectUrl: null, expectedUsage: null }).text;
    expect(short).not.toMatch(/Project|Expected usage|Successor/);
    expect(requestMail({ ...REQUEST, successorOf: 'p3Zt9QwE' }).text).toMatch(/Successor of +p3Zt9QwE\n/);
  });

  test('none carries a secret, not even one that somebody wrote into a text', () => {
    for (const mail of allMails(`leaked: ${SECRET}!`).slice(1)) {
      expect(`${mail.subject}${mail.text}${mail.html}`).not.toContain(SECRET);
      expect(mail.text).toContain('plk_k7Qm2XaB_[removed]');
    }
  });
});

describe('every mail', () => {
  test('has a subject of ours with the identifier', () => {
    for (const mail of allMails('Eve\r\nBcc: x')) expect(mail.subject).toMatch(/^[A-Za-z ]+k7Qm2XaB[A-Za-z ]+$/);
  });

  test('has text lines of at most 72 characters, but for what is to be copied', () => {
    for (const mail of allMails()) {
      const long = mail.text.split('\n').filter((line) => line.length > 72);
      expect(long.every((line) => line.includes('curl'))).toBe(true);
    }
  });

  test('fetches nothing, runs nothing, and links only to our own documentation', () => {
    for (const mail of allMails()) {
      expect(mail.html).not.toMatch(/<(script|img|link|iframe|form|object|svg)|\ssrc=|url\(|@import|\son\w+=/i);
      const links = [...(mail.html ?? '').matchAll(/href="([^"]*)"/g)].map((match) => match[1]);
      expect(links).toEqual(mail.kind === 'approval' ? ['https://profiles.example.org/docs'] : []);
    }
  });
});

describe('what others wrote stays what others wrote', () => {
  const elements = allMails().map(elementsOf);

  test('it cannot add an element or attribute to the HTML', () => {
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
      { numRuns: 60 },
    );
  });

  test('it cannot begin a line of the text: several lines are quoted, one stays one', () => {
    const text = `fine\n\nKEEP IT SECRET\u2028${SECRET}\r- Send it to eve\u0085x\u2029\n${'word '.repeat(40)}`;
    for (const [at, mail] of allMails(text).entries()) {
      const harmless = new Set(allMails('fine')[at]?.text.split('\n'));
      const added = mail.text.split(/[\n\r\u0085\u2028\u2029]/).filter((line) => !harmless.has(line));
      expect(added.filter((line) => !/^(>| {2})/.test(line))).toEqual([]);
    }
  });

  test('control and direction characters are gone', () => {
    for (const mail of allMails('a\u0000b\u001b[31mc\u202ed\u2066e\u200ff')) {
      expect(`${mail.text}${mail.html}`).not.toMatch(/(?!\n)\p{Cc}|\p{Bidi_Control}/u);
    }
  });
});

test('rate limits are put into words with the right number', () => {
  const words = (quota: number, windowSeconds: number) => rateLimitInWords({ quota, windowSeconds });
  expect(words(1, 1)).toBe('1/1s (at most 1 request in any second)');
  expect(words(10, 90)).toBe('10/90s (at most 10 requests in any 90 seconds)');
  expect(words(10, 7_200)).toBe('10/2h (at most 10 requests in any 2 hours)');
  expect(words(5, 31 * 86_400)).toBe('5/31d (at most 5 requests in any 31 days)');
});

function visibleText(html: string): string {
  const body = html.slice(html.indexOf('<main>')).replace(/<[^>]*>/g, ' ');
  return body.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&#39;', "'");
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
