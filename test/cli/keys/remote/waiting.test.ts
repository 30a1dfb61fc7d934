import { describe, expect, test } from 'bun:test';
import { revokeKey } from '../../../../shared/keys/life/lifecycle.ts';
import { showKey } from '../../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { DESCRIPTION, issue, mailedSecrets, request } from '../../../support/keys.ts';
import { KEY, openTerminal } from '../../../support/machine/terminal.ts';
import { startSmtp } from '../../../support/mail/smtp.ts';
import { confirming, DECISION_PAGE, profilectlAt, remoteWorld } from '../../../support/portal/remote.ts';
import { decisionRows } from '../../../support/portal/sessions-rows.ts';

// What a person sees when a command manages keys on a remote server: prompts, waits and errors.

const LIMIT_MS = 60_000;

const here = await remoteWorld();

/** The path of the key's page that a terminal shows. */
const pageIn = (screen: string) => DECISION_PAGE.exec(screen)?.[1] as string;

/** A terminal with `profilectl` on this server with this token. */
const terminalOf = (token: string, ...words: string[]) =>
  openTerminal([...words, '--host', here.server.url], { PROFILECTL_TOKEN: token });

const plain = (screen: string) => screen.replace(/\s+/g, ' ');

test(
  'for an admin, the terminal does not prompt: it shows a link to the decision page, and waits',
  async () => {
    const identifier = await request(here.access, { profile: 'ada', name: 'Waiting' });
    const terminal = terminalOf(here.adminToken, 'keys', 'approve', identifier, '--rate-limit', '7/1m', '70/1h');
    await terminal.see(DECISION_PAGE);
    expect(terminal.screen()).toContain(
      `To approve key ${identifier}, open this page and confirm with your passkey: ${here.server.url}/developers/admin/keys/${identifier}?operation=approve&rateLimits=7/1m,70/1h`,
    );
    await terminal.see('Waiting for the decision, 1 s…');
    await confirming(here.world, here.grace)(pageIn(terminal.screen()));
    expect(await terminal.exited).toBe(0);
    expect(plain(terminal.screen())).toEndWith(`${identifier} Active `);
    expect(showKey(here.access, identifier).rateLimits).toHaveLength(2);
    expect(mailedSecrets(here.access, identifier)).toHaveLength(1);
    await revokeKey(here.access, { identifier, reason: null, by: onBox('owner') });
  },
  LIMIT_MS,
);

test(
  'keys approve without an identifier links to the page with the queue',
  async () => {
    const terminal = terminalOf(here.adminToken, 'keys', 'approve');
    expect(await terminal.exited).toBe(2);
    expect(plain(terminal.screen())).toContain(`${here.server.url}/developers/admin lists the pending ones`);
  },
  LIMIT_MS,
);

test(
  'an owner is prompted for missing values, but not for the profile',
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

describe('Ctrl-C reports the state of the key', () => {
  test(
    'while a decision waits for the passkey: nothing was changed, and nothing was stored on the server',
    async () => {
      const { identifier } = await issue(here.access, { profile: 'ada' });
      const rows = () => decisionRows(here.access.sessions);
      const before = rows();
      const terminal = terminalOf(here.adminToken, 'keys', 'revoke', identifier);
      await terminal.see(DECISION_PAGE);
      await terminal.see('Waiting for the decision, 1 s…');
      // What others change meanwhile is no decision.
      await perform(here.access, { kind: 'operator', name: 'root' }, OPERATIONS.edit, { identifier, name: 'Renamed' });
      terminal.type(KEY.ctrlC);
      expect(await terminal.exited).toBe(130);
      const said = `Interrupted; key ${identifier} is still Active. You can still confirm on the page.`;
      expect(plain(terminal.screen())).toContain(said);
      expect([showKey(here.access, identifier).state, rows()]).toEqual(['Active', before]);
    },
    LIMIT_MS,
  );

  test(
    'while the server mails a secret: the server still finishes the approval',
    async () => {
      const { promise, resolve: releaseMail } = Promise.withResolvers<void>();
      const smtp = await startSmtp({ onMessage: () => promise });
      const own = await remoteWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
      const identifier = await request(own.access, { profile: 'ada' });
      const terminal = openTerminal(['keys', 'approve', identifier, '--host', own.server.url], {
        PROFILECTL_TOKEN: own.adminToken,
      });
      await terminal.see(DECISION_PAGE);
      const confirmed = confirming(own.world, own.grace)(pageIn(terminal.screen()));
      while (showKey(own.access, identifier).attempt === null) await Bun.sleep(10);
      terminal.type(KEY.ctrlC);
      expect(await terminal.exited).toBe(130);
      expect(plain(terminal.screen())).toContain(`the server is still mailing the secret of key ${identifier}`);
      releaseMail();
      await confirmed;
      while (showKey(own.access, identifier).state !== 'Active') await Bun.sleep(10);
    },
    LIMIT_MS,
  );
});

test(
  'an approval whose mail is refused reports the response of the mail server (exit code 75 if it may be accepted later)',
  async () => {
    const smtp = await startSmtp({ failures: { rcpt: '450 4.2.1 Try again later' } });
    const own = await remoteWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
    const identifier = await request(own.access, { profile: 'ada' });
    const words = ['keys', 'approve', identifier, '--wait'];
    const done = await profilectlAt(own.server, own.adminToken, words, confirming(own.world, own.grace));
    expect(done).toMatchObject({ code: 75, stdout: '' });
    expect(done.stderr).toContain('450');
    expect(done.stderr).toEndWith(` Key ${identifier} is still pending.\n`);
  },
  LIMIT_MS,
);
