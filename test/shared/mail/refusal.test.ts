import { describe, expect, test } from 'bun:test';
import { type Attempted, type Failure, refusalOf, unconfirmed } from '../../../shared/mail/refusal.ts';
import { FROM, SECRET, serverAt, TO } from './sample.ts';

const login = { user: 'mailer', password: 'correct horse' };
const ATTEMPTED: Attempted = {
  server: serverAt(587, { host: 'mail.example.org', login }),
  kind: 'approval',
  recipient: TO,
  sender: FROM,
};

function reasonOf(failure: Failure, changes: Partial<Attempted> = {}): string {
  return refusalOf(failure, { ...ATTEMPTED, ...changes }).reason;
}

function quoted(response: string): string {
  return /\("(.*)"\)/.exec(reasonOf({ command: 'RCPT TO', response, responseCode: 550 }))?.[1] ?? '';
}

describe('the reply of a server is shown without anything private', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const replies = [
    `550 5.1.1 <${TO}>: unknown`,
    '550 no ADA@Example.ORG here',
    '550 ada=40example.org, ada%40example.org',
    '550 "x"@example.org (other@example.net)',
    `550 found ${SECRET}.`,
    `535 AUTH PLAIN ${base64(`\0${login.user}\0${login.password}`)}`,
    `535 ${base64(login.password)} and ${login.password}`,
  ];
  for (const reply of replies) {
    test(JSON.stringify(reply.replace(SECRET, 'a secret')), () => {
      const text = quoted(reply);
      expect(text).toContain('[removed]');
      expect(text).not.toMatch(/@|=40|%40|plk_/);
      for (const secret of [login.password, base64(login.password)]) expect(text).not.toContain(secret);
    });
  }

  test('the rest stays readable on one line, without repeated codes and escape sequences', () => {
    expect(quoted('550-5.7.1 Not today,\n550-5.7.1 not\u001b[31m ever.\n550 5.7.1 See "help"')).toBe(
      "550 5.7.1 Not today, 5.7.1 not[31m ever. 5.7.1 See 'help'",
    );
  });

  test('a long reply is truncated, never inside a character', () => {
    const text = quoted(`550 ${'😀'.repeat(500)}`);
    expect([...text].length).toBe(200);
    expect(text.isWellFormed()).toBe(true);
  });
});

describe('the sentence says what to do', () => {
  const reply = (command: string, responseCode: number) => ({ command, response: `${responseCode} no`, responseCode });
  const cases: [string, Failure, boolean, RegExp][] = [
    ['busy', reply('CONN', 421), false, /refused to serve this machine .*; try again later\./],
    [
      'the sender for now',
      reply('MAIL FROM', 450),
      false,
      /refused the sender .*check MAIL_FROM.*, or try again later\./,
    ],
    ['the recipient for now', reply('RCPT TO', 451), false, /refused the recipient .*, or try again later\./],
    ['the message for now', reply('DATA', 452), false, /refused the message .*; try again later\./],
    [
      'no STARTTLS',
      reply('STARTTLS', 502),
      true,
      /no mail is sent to it unencrypted; set MAIL_URL to another port or to smtps:/,
    ],
    ['no STARTTLS for now', reply('STARTTLS', 454), false, /smtps:\/\/, or try again later\./],
    ['no such host', { code: 'EDNS', originalCode: 'ENOTFOUND' }, false, /was not found; check the host in MAIL_URL/],
    ['refused', { code: 'ESOCKET', originalCode: 'ECONNREFUSED' }, false, /check the host and port in MAIL_URL/],
    ['no route', { code: 'ESOCKET', originalCode: 'EHOSTUNREACH' }, false, /can't be reached \(EHOSTUNREACH\)/],
    ['silence', { code: 'ETIMEDOUT' }, false, /did not answer in time/],
    ['reset', { code: 'ESOCKET', originalCode: 'ECONNRESET' }, false, /closed the connection before the mail was sent/],
    ['expired', { code: 'ESOCKET', originalCode: 'CERT_HAS_EXPIRED' }, true, /certificate that can't be trusted/],
    ['own signature', { code: 'ESOCKET', originalCode: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, true, /NODE_EXTRA_CA_CERTS/],
    ['handshake lost', { code: 'ETLS' }, false, /while encryption was being set up/],
    ['not TLS', { code: 'ESOCKET', originalCode: 'ERR_SSL_WRONG_VERSION_NUMBER' }, true, /smtp:\/\/ or smtps:\/\//],
    ['no login method', { code: 'EAUTH' }, true, /offers no supported login method/],
    ['too large', { code: 'EMESSAGE' }, true, /does not accept messages of this size/],
    ['nonsense', { code: 'EPROTOCOL', responseCode: 250 }, true, /does not speak SMTP on this port/],
  ];
  for (const [name, failure, permanent, sentence] of cases) {
    test(name, () => {
      const refusal = refusalOf(failure, ATTEMPTED);
      expect(refusal.permanent).toBe(permanent);
      expect(refusal.reason).toMatch(sentence);
      expect(refusal.reason).toMatch(/^The mail server mail\.example\.org:587 .*\.$/);
    });
  }

  test('the sentence about a refused mail to admins names ADMIN_EMAIL', () => {
    const failure = { command: 'RCPT TO', response: '550 no', responseCode: 550 };
    expect(reasonOf(failure, { kind: 'request' })).toContain('check ADMIN_EMAIL');
  });

  test('an IPv6 host is written with brackets', () => {
    expect(reasonOf({ code: 'ETIMEDOUT' }, { server: serverAt(25, { host: '::1' }) })).toContain('[::1]:25 ');
  });

  test('a mail that may have been sent is never called refused', () => {
    for (const [code, happened] of [
      ['ETIMEDOUT', 'did not confirm the message in time'],
      ['ECONNECTION', 'closed the connection before it confirmed the message'],
      ['EPROTOCOL', 'gave a reply that neither accepts nor rejects the message'],
      ['EMESSAGE', 'gave a reply that neither accepts nor rejects the message'],
      ['ESOCKET', 'closed the connection before it confirmed the message'],
    ]) {
      const { outcome, reason } = unconfirmed({ code }, ATTEMPTED);
      expect(outcome).toBe('unknown');
      expect(reason).toEndWith(`587 ${happened}, so the mail may or may not arrive; its log may say which.`);
    }
  });
});
