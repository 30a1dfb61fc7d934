import { describe, expect, test } from 'bun:test';
import { readConfig } from '../../../shared/config/config.ts';
import { createMailDeps } from '../../../shared/deps.ts';
import { parseMailUrl } from '../../../shared/mail/address.ts';
import { createMailer } from '../../../shared/mail/send.ts';
import { startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { TEST_CA } from '../../support/network.ts';
import { FROM, readMail, SECRET, sampleMail, serverAt, TO } from './sample.ts';

const ACCEPTED = { outcome: 'accepted' } as const;

describe('a mail server receives', () => {
  test('the message once, from MAIL_FROM to exactly one recipient, with the whole secret', async () => {
    const smtp = await startSmtp();
    expect(await createMailer(serverAt(smtp.port), FROM).send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received.map(({ from, to }) => ({ from, to }))).toEqual([{ from: FROM, to: [TO] }]);
    const mail = readMail(smtp.received[0]?.raw ?? '');
    expect(mail.text).toBe(sampleMail().text);
  });

  test.each([
    ['https://api.example.org/lookup', 'api.example.org'],
    ['http://127.0.0.1:3000', '[127.0.0.1]'],
    ['http://[::1]:3000', '[ipv6:::1]'],
  ])('the host of PUBLIC_URL %s in EHLO', async (PUBLIC_URL, host) => {
    const smtp = await startSmtp();
    const mailer = await createMailDeps(readConfig({ PUBLIC_URL, MAIL_URL: smtp.url, MAIL_FROM: FROM })).mailer();
    expect(await mailer?.send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received.map(({ session }) => session.hostNameAppearsAs)).toEqual([host]);
  });

  test('headers that name the sender, but not this machine or program', async () => {
    const smtp = await startSmtp();
    await createMailer(serverAt(smtp.port), FROM).send(sampleMail());
    const { headers } = readMail(smtp.received[0]?.raw ?? '');
    expect([...headers.keys()].sort()).toEqual(
      [
        'auto-submitted',
        'content-transfer-encoding',
        'content-type',
        'date',
        'from',
        'message-id',
        'mime-version',
        'subject',
        'to',
      ].sort(),
    );
    expect(headers.get('from')).toBe(`Profile Lookup <${FROM}>`);
    expect(headers.get('to')).toBe(TO);
    expect(headers.get('auto-submitted')).toBe('auto-generated');
    expect(headers.get('message-id')).toMatch(/^<[0-9a-f-]{36}@profiles\.example\.org>$/);
    expect(Date.parse(headers.get('date') ?? '')).not.toBeNaN();
  });

  test('text in any script unchanged, and the secret on one line of the raw message', async () => {
    const smtp = await startSmtp();
    for (const word of ['ж'.repeat(2000), 'x'.repeat(2000)]) {
      const text = `Schlüssel ${word}\n\n${SECRET}\n\n= 100 %=41\n`;
      const ascii = text.replace('ü', 'u');
      for (const content of [text, ascii]) {
        await createMailer(serverAt(smtp.port), FROM).send(
          sampleMail({ text: content, subject: 'Schlüssel k7Qm2XaB' }),
        );
        const { raw } = smtp.received.at(-1) ?? { raw: '' };
        expect(readMail(raw).text).toBe(content);
        expect(raw).toMatch(new RegExp(`^${SECRET}\r$`, 'm'));
        expect(Math.max(...raw.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(998);
        expect(/^[\t\r\n -~]*$/.test(raw)).toBe(true);
      }
    }
  });
});

describe('addresses and names can’t inject anything', () => {
  test('a subject with line breaks and direction marks stays one header without them', async () => {
    const smtp = await startSmtp();
    const subject = 'key\r\nBcc: eve@example.org\r\n\r\nforged\u202e\u0000 body';
    await createMailer(serverAt(smtp.port), FROM).send(sampleMail({ subject }));
    const { headers } = readMail(smtp.received[0]?.raw ?? '');
    expect(headers.has('bcc')).toBe(false);
    expect(headers.get('subject')).toBe('key Bcc: eve@example.org  forged body');
    expect(smtp.received[0]?.to).toEqual([TO]);
  });

  for (const to of [
    'ada@example.org\r\nBcc: eve@example.org',
    'ada@example.org, eve@example.org',
    'Ada <ada@example.org>',
    '',
  ]) {
    test(`no connection is made for the recipient ${JSON.stringify(to)}`, async () => {
      const smtp = await startBrokenSmtp({});
      const delivery = await createMailer(serverAt(smtp.port), FROM).send(sampleMail({ to }));
      expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
      expect(delivery).toHaveProperty(
        'reason',
        'The recipient is not a single plain e-mail address; correct it and try again.',
      );
      expect(smtp.seen).toEqual([]);
    });
  }

  test('no connection is made if MAIL_FROM is missing or not a plain address', async () => {
    for (const from of [null, 'keys@example.org\r\nX: y']) {
      const delivery = await createMailer(serverAt(1), from).send(sampleMail());
      expect(delivery).toMatchObject({
        outcome: 'refused',
        permanent: true,
        reason: expect.stringContaining('MAIL_FROM'),
      });
    }
  });
});

describe('logging in', () => {
  const login = { user: 'mailer@example.org', password: 'pa:ss/w örd%' };

  test('uses the percent-decoded user and password of MAIL_URL over STARTTLS', async () => {
    const smtp = await startSmtp({ login });
    const target = parseMailUrl(smtp.url);
    if (target === null) throw new Error('the test server has a bad address');
    expect(await createMailer(target, FROM, { isRemote: true, ca: TEST_CA }).send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received[0]?.session).toMatchObject({ user: login.user, secure: true });
  });

  test('works over smtps', async () => {
    const smtp = await startSmtp({ login, secure: true });
    const target = serverAt(smtp.port, { secure: true, login });
    expect(await createMailer(target, FROM, { isRemote: true, ca: TEST_CA }).send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received[0]?.session).toMatchObject({ user: login.user, secure: true });
  });

  test('works without encryption on loopback, if the server has no TLS', async () => {
    const smtp = await startSmtp({ login, disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    expect(await createMailer(serverAt(smtp.port, { login }), FROM).send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received[0]?.session).toMatchObject({ user: login.user, secure: false });
  });

  test('is skipped if the server offers no login', async () => {
    const smtp = await startSmtp({ disabledCommands: ['AUTH'] });
    expect(await createMailer(serverAt(smtp.port, { login }), FROM).send(sampleMail())).toEqual(ACCEPTED);
    expect(smtp.received[0]?.session.user).toBeFalsy();
  });

  test('with a wrong password is refused permanently, with an error that contains neither user nor password', async () => {
    const smtp = await startSmtp({ login });
    const wrong = { user: login.user, password: 'hunter2' };
    const delivery = await createMailer(serverAt(smtp.port, { login: wrong }), FROM).send(sampleMail());
    expect(delivery).toEqual({
      outcome: 'refused',
      permanent: true,
      reason: `The mail server 127.0.0.1:${smtp.port} refused AUTH ("535 5.7.8 Error: authentication failed for [removed] with [removed]"); check the user and password in MAIL_URL.`,
    });
    expect(smtp.received).toEqual([]);
  });
});
