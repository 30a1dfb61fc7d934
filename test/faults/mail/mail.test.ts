import { describe, expect, test } from 'bun:test';
import { showKey } from '../../../shared/keys/view.ts';
import { createMailer } from '../../../shared/mail/mailer.ts';
import { onBox } from '../../support/actors.ts';
import { profilectl } from '../../support/cli.ts';
import { approveKey, mailedSecrets, request } from '../../support/keys.ts';
import { type SmtpFault, type SmtpSetup, type SmtpStage, startBrokenSmtp, startSmtp } from '../../support/mail/smtp.ts';
import { TEST_CA_FILE } from '../../support/network/certificates.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/reading.ts';
import { drawQuarter, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Everything that can go wrong with a mail server, seen by an admin who runs `profilectl keys approve`: the exit
// code, the sentence on stderr, and the state of the key.

const deps = testDeps();
const { verify } = readingOf(deps);
let nextId = 1;

async function newKey(): Promise<string> {
  insertProfile(deps.db, { id: nextId });
  return await request(deps, { profile: `user${nextId++}` });
}

const LOGIN = { user: 'mailer', password: 'correct%horse' };
/**
 * Reaches this machine, but is not a loopback address: as across a network, TLS and a valid certificate are required.
 */
const ACROSS = '0.0.0.0';

/** Starts a server with this fault. `content` is everything it received after DATA. */
type Faulty = () => Promise<{ port: number; content?: () => string }>;
type Case = {
  name: string;
  server: Faulty;
  url?: (port: number) => string;
  code: 1 | 75;
  result: 'refused' | 'not confirmed';
  sentence: RegExp;
};

const at =
  (stage: SmtpStage, fault: SmtpFault): Faulty =>
  () =>
    startBrokenSmtp({ [stage]: fault });
const real =
  (setup: SmtpSetup): Faulty =>
  () =>
    startSmtp(setup);
const across = (port: number) => `smtp://${ACROSS}:${port}`;

function refusalAt(stage: SmtpStage, reply: SmtpFault, sentence: RegExp): Case {
  const code = reply.startsWith('5') ? 1 : 75;
  return { name: `${reply.slice(0, 3)} at ${stage}`, server: at(stage, reply), code, result: 'refused', sentence };
}

const later = /try again later/;
const CASES: Case[] = [
  {
    name: 'a port without a server',
    server: async () => {
      const server = await startBrokenSmtp({});
      server.stop();
      return server;
    },
    code: 75,
    result: 'refused',
    sentence: /refused the connection; check the host and port in MAIL_URL/,
  },
  {
    name: 'no such host',
    server: at('greeting', 'close'),
    url: (port) => `smtp://mail.invalid:${port}`,
    code: 75,
    result: 'refused',
    sentence: /was not found; check the host in MAIL_URL/,
  },
  ...(['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA'] as const).map(
    (stage): Case => ({
      name: `closed at ${stage}`,
      server: at(stage, 'close'),
      code: 75,
      result: 'refused',
      sentence: /closed the connection before the mail was sent; try again later/,
    }),
  ),
  refusalAt('greeting', '421 4.3.2 too busy', later),
  refusalAt('MAIL', '421 4.3.2 shutting down', later),
  refusalAt('MAIL', '450 4.1.8 who are you', /refused the sender .*check MAIL_FROM.*try again later/),
  refusalAt('MAIL', '550 5.7.1 not you', /refused the sender .*check MAIL_FROM/),
  refusalAt('RCPT', '451 4.3.0 greylisted', /refused the recipient .*try again later/),
  refusalAt('RCPT', '550 5.1.1 no such user', /refused the recipient .*check the profile's e-mail address/),
  refusalAt('DATA', '421 4.3.2 shutting down', later),
  refusalAt('DATA', '554 5.3.4 no', /refused the message .*ask its operator why/),
  refusalAt('dot', '452 4.2.2 full', later),
  refusalAt('dot', '552 5.2.2 full for good', /refused the message .*ask its operator why/),
  ...(['content', 'dot'] as const).map(
    (stage): Case => ({
      name: `cut after the ${stage}`,
      server: at(stage, 'close'),
      code: 75,
      result: 'not confirmed',
      sentence: /Delivery is not confirmed: .* stays pending, .* will never work\. Approve again to send a new one\./,
    }),
  ),
  {
    name: 'a reply after the dot that is neither yes nor no',
    server: at('dot', '354 go on'),
    code: 75,
    result: 'not confirmed',
    sentence: /neither accepts nor rejects the message.* Approve again to send a new one\./,
  },
  {
    name: 'wrong password',
    server: real({ login: { ...LOGIN, password: 'another' }, clearLogin: true }),
    url: (port) => `smtp://${LOGIN.user}:${encodeURIComponent(LOGIN.password)}@127.0.0.1:${port}`,
    code: 1,
    result: 'refused',
    sentence: /refused the login .*check the user and password in MAIL_URL/,
  },
  {
    name: 'no STARTTLS across a network',
    server: real({ starttls: false }),
    url: across,
    code: 1,
    result: 'refused',
    sentence: /refused STARTTLS .*, and no mail is sent to it unencrypted; set MAIL_URL to another port or to smtps:/,
  },
  {
    name: 'STARTTLS out of order',
    server: at('STARTTLS', '454 4.7.0 not now'),
    url: across,
    code: 75,
    result: 'refused',
    sentence: /STARTTLS .*try again later/,
  },
  {
    name: 'STARTTLS that is cut off',
    server: at('STARTTLS', 'close'),
    url: across,
    code: 75,
    result: 'refused',
    sentence: /closed the connection .*; try again later/,
  },
  ...(['smtp', 'smtps'] as const).map(
    (scheme): Case => ({
      name: `${scheme} with a certificate for another name`,
      server: real({ secure: scheme === 'smtps', certificate: 'elsewhere' }),
      url: (port) => `${scheme}://${ACROSS}:${port}`,
      code: 1,
      result: 'refused',
      sentence: /a certificate that can't be trusted .*NODE_EXTRA_CA_CERTS/,
    }),
  ),
  {
    name: 'smtps:// on a port without implicit TLS',
    server: real({}),
    url: (port) => `smtps://127.0.0.1:${port}`,
    code: 1,
    result: 'refused',
    sentence: /smtp:\/\/ or smtps:\/\//,
  },
];

/** The key is pending and can be approved again at once; of all mailed secrets only the last one works. */
async function expectApprovable(identifier: string, content: string): Promise<void> {
  const lost = content.match(new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`, 'g')) ?? [];
  for (const secret of lost) expect(verify(secret)).toBeNull();
  await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
  expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 2, result: 'accepted' } });
  for (const secret of lost) expect(verify(secret)).toBeNull();
  expect(mailedSecrets(deps, identifier).map((secret) => verify(secret)?.identifier)).toEqual([identifier]);
}

describe('the error says what to do, and the key is still pending', () => {
  for (const { name, server, url, code, result, sentence } of drawQuarter(CASES, seededRandom('faulty mail servers'))) {
    test(`${name}: ${code}, ${result}`, async () => {
      const identifier = await newKey();
      const { port, content } = await server();
      const variables = {
        DATABASE_PATH: deps.config.databasePath,
        MAIL_URL: url?.(port) ?? `smtp://127.0.0.1:${port}`,
        MAIL_FROM: 'keys@example.net',
        NODE_EXTRA_CA_CERTS: TEST_CA_FILE,
      };
      const done = await profilectl(['keys', 'approve', identifier], { variables });
      expect(done).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) });
      expect(done.stderr.trimEnd()).not.toContain('\n');
      expect(done.stderr).toStartWith('The mail server ');
      expect(done.stderr).toContain(result === 'refused' ? `Key ${identifier} is still pending.` : identifier);
      expect(done.stderr).not.toMatch(/@|plk_|correct|horse|another\b.*password/);
      expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result } });
      await expectApprovable(identifier, content?.() ?? '');
    }, 30_000);
  }
});

test('silence at any stage ends at the time limit: refused before the content, not confirmed after it', async () => {
  const stages: SmtpStage[] = ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'content', 'dot'];
  await Promise.all(
    stages.map(async (stage) => {
      const identifier = await newKey();
      const server = await startBrokenSmtp({ [stage]: 'silence' });
      const target = { kind: 'server', host: '127.0.0.1', port: server.port, secure: false, login: null } as const;
      const mailer = createMailer(target, 'keys@example.net', { timeoutMs: 1_500 });
      const approving = approveKey(
        { ...deps, mailer: async () => mailer },
        { identifier, grant: {}, by: onBox('admin') },
      );
      const error = await approving.then(
        () => null,
        (error) => error,
      );
      const isLate = stage === 'content' || stage === 'dot';
      const wanted = isLate
        ? /in time.*not confirmed.*Approve again/
        : /did not answer in time; check the host and port/;
      expect([stage, error?.code, error?.message]).toEqual([stage, 'try_later', expect.stringMatching(wanted)]);
      const result = isLate ? 'not confirmed' : 'refused';
      expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { result } });
      await expectApprovable(identifier, server.content());
    }),
  );
}, 30_000);
