import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Delivery } from '../../../shared/mail/send.ts';
import { createMailer, type MailerOptions } from '../../../shared/mail/send.ts';
import { PROJECT } from '../../support/cli.ts';
import { startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { TEST_CA, testCertificate } from '../../support/network.ts';
import { FROM, sampleMail, serverAt } from './sample.ts';

// `isRemote` treats a server on this machine like one across a network.
const REMOTE = { isRemote: true, ca: TEST_CA } as const;
const login = { user: 'mailer', password: 'hunter22' };

type Target = Parameters<typeof serverAt>[1];

function send(port: number, target: Target, options: MailerOptions): Promise<Delivery> {
  return createMailer(serverAt(port, target), FROM, options).send(sampleMail());
}

describe('over a network, mail is only sent encrypted and to a verified server', () => {
  test('neither login nor mail is sent if an attacker on the network hides STARTTLS', async () => {
    const server = await startBrokenSmtp({});
    const delivery = await send(server.port, { login }, REMOTE);
    expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
    expect(delivery).toHaveProperty(
      'reason',
      expect.stringContaining('refused STARTTLS ("502 5.5.1 not implemented")'),
    );
    expect(server.seen).toEqual(['greeting', 'EHLO', 'STARTTLS']);
  });

  test('a server that does not support EHLO is refused', async () => {
    const server = await startBrokenSmtp({ EHLO: '502 5.5.1 what?' });
    expect(await send(server.port, { login }, REMOTE)).toMatchObject({ outcome: 'refused', permanent: true });
    expect(server.seen).toEqual(['greeting', 'EHLO']);
  });

  test('a temporary error of STARTTLS is temporary', async () => {
    const server = await startBrokenSmtp({ STARTTLS: '454 4.7.0 TLS not available' });
    expect(await send(server.port, {}, REMOTE)).toMatchObject({ outcome: 'refused', permanent: false });
  });

  test('an aborted handshake sends nothing, and one that hangs ends with the time-out', async () => {
    const closing = await startBrokenSmtp({ STARTTLS: 'close' });
    expect(await send(closing.port, {}, REMOTE)).toMatchObject({ outcome: 'unknown' });
    expect(closing.seen).toEqual(['greeting', 'EHLO', 'STARTTLS']);
    const hanging = await startBrokenSmtp({ STARTTLS: '220 go' });
    expect(await send(hanging.port, {}, { ...REMOTE, timeoutMs: 150 })).toMatchObject({ outcome: 'unknown' });
    expect(hanging.seen).toEqual(['greeting', 'EHLO', 'STARTTLS']);
  });

  for (const secure of [false, true]) {
    const name = secure ? 'smtps' : 'STARTTLS';

    test(`${name} works with a valid certificate for a name or an IP address`, async () => {
      const smtp = await startSmtp({ secure });
      for (const host of ['localhost', '127.0.0.1']) {
        expect(await send(smtp.port, { secure, host }, REMOTE)).toEqual({ outcome: 'accepted' });
      }
      expect(smtp.received.map(({ session }) => session.secure)).toEqual([true, true]);
    });

    test(`${name} with a certificate for another name is refused permanently`, async () => {
      const smtp = await startSmtp({ secure, ...testCertificate('elsewhere') });
      for (const host of ['localhost', '127.0.0.1']) {
        const delivery = await send(smtp.port, { secure, host, login }, REMOTE);
        expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
        expect(delivery).toHaveProperty(
          'reason',
          expect.stringContaining("a certificate that can't be trusted (ERR_TLS_CERT_ALTNAME_INVALID)"),
        );
      }
      expect(smtp.received).toEqual([]);
    });

    test(`${name} with a certificate of an unknown authority is refused permanently, and says how to trust it`, async () => {
      const smtp = await startSmtp({ secure });
      const delivery = await send(smtp.port, { secure }, { isRemote: true });
      expect(delivery).toMatchObject({ outcome: 'refused', permanent: true });
      expect(delivery).toHaveProperty('reason', expect.stringContaining('NODE_EXTRA_CA_CERTS'));
      expect(smtp.received).toEqual([]);
    });
  }

  test('NODE_EXTRA_CA_CERTS makes an authority trusted, as the sentence says', async () => {
    for (const secure of [false, true]) {
      const smtp = await startSmtp({ secure });
      const target = JSON.stringify(serverAt(smtp.port, { secure, host: 'localhost' }));
      const program = `import { createMailer } from ${JSON.stringify(join(PROJECT, 'shared/mail/send.ts'))};
        const mail = ${JSON.stringify(sampleMail())};
        const delivery = await createMailer(${target}, '${FROM}', { isRemote: true }).send(mail);
        process.stdout.write(JSON.stringify(delivery));`;
      const child = Bun.spawn([process.execPath, '-e', program], {
        env: { ...process.env, NODE_EXTRA_CA_CERTS: join(PROJECT, 'test/support/certificates/ca.pem') },
      });
      expect(JSON.parse(await child.stdout.text())).toEqual({ outcome: 'accepted' });
    }
  });
});

describe('on this machine', () => {
  test('TLS is used if it is offered, whatever the certificate, since a local server has a self-signed one', async () => {
    for (const secure of [false, true]) {
      const smtp = await startSmtp({ secure, ...testCertificate('elsewhere') });
      for (const host of ['127.0.0.1', 'localhost']) {
        expect(await send(smtp.port, { secure, host }, {})).toEqual({ outcome: 'accepted' });
      }
      expect(smtp.received.map(({ session }) => session.secure)).toEqual([true, true]);
    }
  });

  test('mail is sent unencrypted if TLS is not offered', async () => {
    const smtp = await startSmtp({ disabledCommands: ['STARTTLS'] });
    expect(await send(smtp.port, {}, {})).toEqual({ outcome: 'accepted' });
    expect(smtp.received[0]?.session.secure).toBe(false);
  });
});

describe('if smtp:// and smtps:// are mixed up', () => {
  test('smtps:// at a port without TLS names the setting to check', async () => {
    const smtp = await startSmtp();
    const delivery = await send(smtp.port, { secure: true }, {});
    expect(delivery).toMatchObject({
      outcome: 'refused',
      permanent: true,
      reason: expect.stringContaining('smtp:// or smtps://'),
    });
  });

  test('smtp:// at a port with TLS names it too', async () => {
    const smtp = await startSmtp({ secure: true });
    const delivery = await send(smtp.port, {}, { timeoutMs: 150 });
    expect(delivery).toMatchObject({
      outcome: 'unknown',
      reason: expect.stringContaining('smtp:// or smtps://'),
    });
  });
});
