import { describe, expect, test } from 'bun:test';
import { showKey } from '../../../shared/keys/view.ts';
import { profilectl } from '../../support/cli.ts';
import { DESCRIPTION, issue, mailedSecrets, request } from '../../support/keys.ts';
import { confirming, profilectlAt, remoteWorld } from '../../support/remote.ts';
import { startSmtp } from '../../support/smtp.ts';
import { KEY, openTerminal } from '../../support/terminal.ts';

// What a person sees of keys at a server elsewhere: questions, waits and how they end.

const LIMIT_MS = 60_000;

const here = await remoteWorld();

/** The path of the page of a decision that a terminal shows. */
const pageIn = (screen: string) => /(\/developers\/cli\/decisions\/\w{8})/.exec(screen)?.[1] as string;

/** A terminal in which `profilectl` asks this server with this token. */
const terminalOf = (token: string, ...words: string[]) =>
  openTerminal([...words, '--host', here.server.url], { PROFILECTL_TOKEN: token });

const plain = (screen: string) => screen.replace(/\s+/g, ' ');

test(
  'the queue is walked with the questions that the box asks, and each decision waits for the passkey',
  async () => {
    const identifier = await request(here.access, { profile: 'ada', name: 'Queued' });
    const terminal = terminalOf(here.adminToken, 'keys', 'approve');
    await terminal.see('Request 1 of 1');
    await terminal.see('What now?');
    terminal.type(KEY.enter);
    await terminal.see('Permissions to grant');
    terminal.type(KEY.enter);
    await terminal.see('Rate limits');
    terminal.type(KEY.enter);
    await terminal.see('Expires');
    terminal.type(KEY.enter);
    await terminal.see('The secret will be mailed to the address of the profile.');
    await terminal.see('and mail the secret?');
    terminal.type('y\r');
    await terminal.see(/decisions\/\w{8}\s/);
    await confirming(here.world, here.grace)(pageIn(terminal.screen()));
    await terminal.see('The secret was mailed to the address of the profile.');
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain(`${identifier} Active`);
    expect(mailedSecrets(here.access, identifier)).toHaveLength(1);
  },
  LIMIT_MS,
);

test(
  'an owner is asked for what is missing, but not for his profile',
  async () => {
    const terminal = terminalOf(here.ownerToken, 'keys', 'request', '--description', DESCRIPTION);
    await terminal.see('Name of the key');
    terminal.type('Asked\r');
    await terminal.see('Permissions');
    terminal.type(KEY.enter);
    await terminal.see('Project URL');
    terminal.type(KEY.enter);
    await terminal.see('Expected usage');
    terminal.type(KEY.enter);
    await terminal.see('Send this request?');
    terminal.type(KEY.enter);
    await terminal.see(`On ${here.server.url}:`);
    expect(await terminal.exited).toBe(0);
    expect(plain(terminal.screen())).toMatch(/Profile ada .* \w{8} pending/);
  },
  LIMIT_MS,
);

describe('Ctrl-C says what stands', () => {
  test(
    'while a decision waits for the passkey: nothing was changed, also by a passkey that comes later',
    async () => {
      const { identifier } = await issue(here.access, { profile: 'ada' });
      const terminal = terminalOf(here.adminToken, 'keys', 'revoke', identifier, '--reason', 'Leaked.', '--yes');
      await terminal.see(/decisions\/\w{8}\s/);
      await terminal.see('Waiting for the server, 1 s…');
      terminal.type(KEY.ctrlC);
      expect(await terminal.exited).toBe(130);
      expect(plain(terminal.screen())).toContain(`Interrupted; key ${identifier} is Active as before.`);
      await confirming(here.world, here.grace)(pageIn(terminal.screen()));
      expect(showKey(here.access, identifier).state).toBe('Active');
    },
    LIMIT_MS,
  );

  test(
    'while the server mails a secret: it goes on',
    async () => {
      const { promise, resolve: letGo } = Promise.withResolvers<void>();
      const smtp = await startSmtp({ onMessage: () => promise });
      const own = await remoteWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
      const identifier = await request(own.access, { profile: 'ada' });
      const terminal = openTerminal(['keys', 'approve', identifier, '--yes', '--host', own.server.url], {
        PROFILECTL_TOKEN: own.adminToken,
      });
      await terminal.see(/decisions\/\w{8}\s/);
      const confirmed = confirming(own.world, own.grace)(pageIn(terminal.screen()));
      while (showKey(own.access, identifier).attempt === null) await Bun.sleep(10);
      terminal.type(KEY.ctrlC);
      expect(await terminal.exited).toBe(130);
      expect(plain(terminal.screen())).toContain(`the server goes on to mail the secret of key ${identifier}`);
      letGo();
      await confirmed;
      while (showKey(own.access, identifier).state !== 'Active') await Bun.sleep(10);
    },
    LIMIT_MS,
  );
});

test(
  'an approval whose mail is refused ends with what the mail server said',
  async () => {
    const smtp = await startSmtp({ failures: { rcpt: '550 5.1.1 No such mailbox here' } });
    const own = await remoteWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
    const identifier = await request(own.access, { profile: 'ada' });
    const words = ['keys', 'approve', identifier, '--yes'];
    const done = await profilectlAt(own.server, own.adminToken, words, confirming(own.world, own.grace));
    expect(done).toMatchObject({ code: 1, stdout: '' });
    expect(done.stderr).toContain('550');
    expect(done.stderr).toEndWith(` Key ${identifier} is pending as before.\n`);
  },
  LIMIT_MS,
);

test(
  'the shell completes identifiers of keys at the server',
  async () => {
    const own = await remoteWorld();
    const [pending, { identifier: active }] = [
      await request(own.access, { profile: 'ada' }),
      await issue(own.access, { profile: 'ada', name: 'A \u202ebot' }),
    ];
    const next = async (words: string[], token = own.adminToken) =>
      (await profilectl(['completion', '--candidates', '--', ...words], { variables: { PROFILECTL_TOKEN: token } }))
        .stdout;
    const host = ['--host', own.server.url];
    expect(await next([...host, 'keys', 'approve', ''])).toBe(`${pending}\tpending, ada: Bot\n`);
    expect(await next(['keys', 'revoke', ...host, ''])).toBe(`${active}\tActive, ada: A bot\n`);
    expect(await next(['keys', 'show', ...host, ''], 'plt_none')).toBe('');
    expect(await next(['keys', 'show', '--host', 'http://127.0.0.1:1', ''])).toBe('');
  },
  LIMIT_MS,
);
