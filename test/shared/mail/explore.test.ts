import { test } from 'bun:test';
import { createMailer } from '../../../shared/mail/mailer.ts';
import { parseMailUrl } from '../../../shared/mail/target.ts';
import { startSmtp, startBrokenSmtp } from '../../support/smtp.ts';
import { TEST_CA } from '../../support/certificates.ts';
const mail = { kind: 'approval' as const, identifier: 'k7Qm2XaB', to: 'ada@example.org', subject: 'Hi k7', text: 'a\nplk_k7Qm2XaB_TfBIVwfGdcef4v06KE3IpwOiFGkcWtf82QRPF2\n.\nb\n', html: '<p>x</p>' };
const go = async (name: string, url: string, options: any = {}, host?: string) => {
  const target: any = parseMailUrl(url); if (host) target.host = host;
  const t = performance.now();
  const r = await createMailer(target, 'from@example.org', { timeoutMs: 3000, ...options }).send(mail);
  console.log(name.padEnd(34), Math.round(performance.now() - t), JSON.stringify(r));
};
test('x', async () => {
  const s = await startSmtp();
  await go('starttls loopback', s.url);
  await go('starttls verified ca 127', s.url, { isRemote: true, ca: TEST_CA });
  await go('starttls verified ca localhost', s.url, { isRemote: true, ca: TEST_CA }, 'localhost');
  await go('starttls remote, no ca', s.url, { isRemote: true });
  const e = await startSmtp({ certificate: 'elsewhere' });
  await go('starttls elsewhere, 127', e.url, { isRemote: true, ca: TEST_CA });
  await go('starttls elsewhere, localhost', e.url, { isRemote: true, ca: TEST_CA }, 'localhost');
  await go('starttls elsewhere, loopback', e.url);
  const z = await startSmtp({ secure: true });
  await go('smtps loopback', z.url);
  await go('smtps verified', z.url, { isRemote: true, ca: TEST_CA });
  await go('smtps no ca', z.url, { isRemote: true });
  const ze = await startSmtp({ secure: true, certificate: 'elsewhere' });
  await go('smtps elsewhere 127', ze.url, { isRemote: true, ca: TEST_CA });
  await go('smtps elsewhere localhost', ze.url, { isRemote: true, ca: TEST_CA }, 'localhost');
  const p = await startSmtp({ starttls: false });
  await go('plain loopback', p.url);
  await go('plain remote', p.url, { isRemote: true });
  await go('smtps to plain', p.url.replace('smtp:', 'smtps:'));
  await go('smtp to smtps', z.url.replace('smtps:', 'smtp:'), { timeoutMs: 500 });
  const a = await startSmtp({ login: { user: 'mailer@example.org', password: 'pa:ss/ w' } });
  await go('auth', a.url, { isRemote: true, ca: TEST_CA });
  await go('auth wrong', a.url.replace('pa%3A', 'pb%3A'), { isRemote: true, ca: TEST_CA });
  await go('auth none given', a.url.replace(/\/\/.*@/, '//'), { isRemote: true, ca: TEST_CA });
  await go('dns', 'smtp://nonexistent.invalid:25');
  console.log(s.received.map(r => [r.from, r.to, r.overTls]), a.received.map(r=>r.user));
  console.log(s.received[0]!.raw.slice(0, 500));
  for (const stage of ['greeting', 'EHLO', 'AUTH', 'MAIL', 'RCPT', 'DATA', 'content', 'dot'] as const)
    for (const fault of ['silence', 'close', '421 4.3.2 bye <ada@example.org>', '550 5.1.1 no ada@example.org plk_k7Qm2XaB_x'] as const) {
      const b = await startBrokenSmtp({ [stage]: fault });
      await go(stage + ' ' + fault.slice(0, 8), `smtp://u:hunter2@127.0.0.1:${b.port}`, { timeoutMs: fault === 'silence' ? 300 : 3000 });
    }
  for (const fault of ['close', '454 4.7.0 TLS not available', '220 go'] as const) {
    const b = await startBrokenSmtp({ STARTTLS: fault, EHLO: '250 STARTTLS' });
    await go('starttls ' + fault, `smtp://127.0.0.1:${b.port}`, {timeoutMs: 1500});
  }
  const b = await startBrokenSmtp({}); b.stop();
  await go('refused', `smtp://127.0.0.1:${b.port}`);
}, 60000);
