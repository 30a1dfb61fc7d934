import { describe, expect, test } from 'bun:test';
import type { Delivery } from '../../../shared/mail/send.ts';
import { createMailer } from '../../../shared/mail/send.ts';
import { type SmtpFault, type SmtpStage, startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { FROM, SECRET, sampleMail, serverAt, TO } from './sample.ts';

// A mail is "accepted" only after the server's final reply, "refused" only if it certainly was not accepted, and "unknown" in
// between. `timeoutMs` is short, so that these tests do not wait for the real time limit.

const login = { user: 'mailer', password: 'hunter22' };
const LONG_LIMIT = { timeoutMs: 10_000 };
/** Long enough to reach any stage on a slow machine; the tests wait for all stages at once. */
const SHORT_LIMIT = { timeoutMs: 1_500 };

async function sendTo(server: { port: number }, options: { timeoutMs: number } = LONG_LIMIT): Promise<Delivery> {
  const delivery = await createMailer(serverAt(server.port, { login }), FROM, options).send(sampleMail());
  if (delivery.outcome !== 'accepted') expectGoodSentence(delivery.reason, server.port);
  return delivery;
}

/** One sentence that names the server, says what to do, and contains nothing private. */
function expectGoodSentence(reason: string, port: number): void {
  expect(reason).toStartWith(`The mail server 127.0.0.1:${port} `);
  expect(reason).toMatch(/(; |, so )[^;]+\.$/);
  for (const secret of [TO, FROM, SECRET, 'plk_', '@', login.password]) expect(reason).not.toContain(secret);
}

const broken = (stage: SmtpStage, fault: SmtpFault) => startBrokenSmtp({ [stage]: fault });

const BEFORE_CONTENT = ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA'] as const;
const ANSWERED = [...BEFORE_CONTENT, 'dot'] as const;

describe('refused: the server said no, which is about itself before the recipient, and then about recipient or message', () => {
  for (const stage of ANSWERED) {
    test(`4yz at ${stage} is temporary`, async () => {
      const server = await broken(stage, `451 4.3.0 not now <${TO}> ${SECRET}`);
      // If EHLO is refused, nodemailer tries HELO, to which this server replies 500.
      const permanent = stage === 'EHLO';
      expect(await sendTo(server)).toMatchObject({ outcome: 'refused', permanent });
    });

    test(`421 at ${stage} is temporary`, async () => {
      expect(await sendTo(await broken(stage, '421 4.3.2 shutting down'))).toMatchObject({
        outcome: 'refused',
        permanent: false,
      });
    });

    test(`5yz at ${stage} is final`, async () => {
      const server = await broken(stage, `550 5.7.1 no mail for ${TO}, ${login.password}`);
      const isAboutMail = ['RCPT', 'DATA', 'dot'].includes(stage);
      const expected = { outcome: 'refused', permanent: true, ...(isAboutMail && { about: 'mail' }) };
      expect(await sendTo(server)).toMatchObject(expected);
    });
  }

  test('the sentences name the setting to check', async () => {
    const reasonAt = async (stage: SmtpStage) => {
      const delivery = await sendTo(await broken(stage, '550 5.0.0 no'));
      return delivery.outcome === 'refused' ? delivery.reason : '';
    };
    expect(await reasonAt('AUTH')).toContain('check the user and password in MAIL_URL');
    const basic = await sendTo(
      await broken('AUTH', '535 5.7.139 Authentication unsuccessful, basic authentication is disabled.'),
    );
    expect(basic).toMatchObject({ reason: expect.stringContaining('it accepts no passwords (basic login)') });
    expect(await reasonAt('MAIL')).toContain('check MAIL_FROM');
    expect(await reasonAt('RCPT')).toContain("check the recipient's e-mail address");
    expect(await reasonAt('dot')).toContain('refused DATA ("550 5.0.0 no"); ask its operator why');
  });
});

describe('refused: no conversation began', () => {
  test('the port is closed', async () => {
    const server = await startSmtp();
    await server.stop();
    const delivery = await sendTo(server);
    expect(delivery).toMatchObject({ outcome: 'refused', permanent: false });
    expect(delivery).toHaveProperty('reason', expect.stringContaining('check the host and port in MAIL_URL'));
  });

  test('the host does not exist', async () => {
    const target = serverAt(587, { host: 'mail.invalid' });
    const delivery = await createMailer(target, FROM, LONG_LIMIT).send(sampleMail());
    expect(delivery).toMatchObject({
      outcome: 'refused',
      permanent: false,
      reason: expect.stringContaining('mail.invalid:587'),
    });
  });
});

// What nodemailer reports of a closed connection is the same before and after the content.
describe('unknown: the conversation ended without a final reply', () => {
  for (const stage of [...ANSWERED, 'content'] as const) {
    test(`the connection is closed at ${stage}`, async () => {
      const server = await broken(stage, 'close');
      expect(await sendTo(server)).toMatchObject({ outcome: 'unknown' });
      expect(server.seen).toContain(stage);
    });
  }

  test('silence at any stage ends with the time-out, which closes the connection', async () => {
    await Promise.all(
      BEFORE_CONTENT.map(async (stage) => {
        const server = await broken(stage, 'silence');
        expect(await sendTo(server, SHORT_LIMIT)).toMatchObject({ outcome: 'unknown' });
        await server.closed;
        expect(server.content()).toBe('');
      }),
    );
  });

  test('the port is not that of a mail server', async () => {
    const server = await broken('greeting', 'SSH-2.0-OpenSSH_9.2' as SmtpFault);
    expect(await sendTo(server)).toMatchObject({ outcome: 'unknown' });
  });

  test('an unfinished reply after the dot ends with the time-out, which closes the connection', async () => {
    const drip: SmtpFault = (socket) => {
      const timer = setInterval(() => socket.write('250-still at it\r\n'), 5);
      socket.on('close', () => clearInterval(timer));
    };
    const answers: SmtpFault[] = ['silence', drip, '354 go on still', '199 perhaps', '250-yes, and then nothing'];
    await Promise.all(
      [...answers, 'hello' as SmtpFault].map(async (answer) => {
        const server = await broken('dot', answer);
        expect(await sendTo(server, SHORT_LIMIT)).toMatchObject({ outcome: 'unknown' });
        await server.closed;
        expect(server.content()).toContain(SECRET);
      }),
    );
  });
});
