import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { showKey } from '../../../shared/keys/view.ts';
import { commandEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { issue, keysListed, request } from '../../support/keys.ts';
import { KEY, openTerminal } from '../../support/machine/terminal.ts';
import { type ReceivedMail, startSmtp } from '../../support/mail/smtp.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

// What a terminal shows while a command waits for a mail server, and after Ctrl-C.

const deps = testDeps();
let profile = '';
let nextId = 1;

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

/** A mail server that receives a message, but accepts it only after `release`. */
async function slowServer(isHeld: (mail: ReceivedMail) => boolean = () => true) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const { promise: arrived, resolve: onArrival } = Promise.withResolvers<void>();
  const smtp = await startSmtp({
    onMessage: (mail) => {
      if (!isHeld(mail)) return;
      onArrival();
      return promise;
    },
  });
  const variables = {
    DATABASE_PATH: deps.config.databasePath,
    MAIL_URL: smtp.url,
    MAIL_FROM: 'keys@example.net',
    ADMIN_EMAIL: 'admin@example.net',
  };
  return { smtp, release, arrived, variables };
}

describe('a slow mail server', () => {
  test('is waited for with a count of seconds, which disappears at the end', async () => {
    const { release, variables } = await slowServer();
    const identifier = await request(deps, { profile });
    const terminal = openTerminal(['keys', 'approve', identifier, '--yes'], variables);
    await terminal.see('Waiting for the mail server, 1 s…');
    await terminal.see('Waiting for the mail server, 2 s…');
    release();
    await terminal.see(`${identifier} Active`);
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw()).toContain(`\r\u001b[K${identifier} Active`);
  });

  test('is also waited for with a count of seconds when keys approve checks it before the first question', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    afterAll(() => silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const identifier = await request(deps, { profile });
    const variables = {
      DATABASE_PATH: deps.config.databasePath,
      MAIL_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'keys@example.net',
    };
    for (const words of [[identifier], []]) {
      const terminal = openTerminal(['keys', 'approve', ...words], variables);
      await terminal.see('Waiting for the mail server, 1 s…');
      terminal.type(KEY.ctrlC);
      expect(await terminal.exited).toBe(130);
      expect(terminal.screen()).toContain('Interrupted; nothing was sent or changed.');
    }
    expect(showKey(deps, identifier).state).toBe('pending');
  });

  test('is mentioned once on a terminal that can’t rewrite a line', async () => {
    const { release, variables } = await slowServer();
    const terminal = openTerminal(['mail', 'test', 'ada@example.org'], { ...variables, TERM: 'dumb' });
    await terminal.see('Waiting for the mail server, at most a minute…');
    release();
    expect(await terminal.exited).toBe(0);
    expect(terminal.raw()).not.toContain('\u001b');
  });
});

describe('Ctrl-C while a mail is being sent reports the state of the key (exit code 130)', () => {
  const interrupt = async (variables: Record<string, string>, arrived: Promise<void>, words: string[]) => {
    const terminal = openTerminal(words, variables);
    await arrived;
    terminal.type(KEY.ctrlC);
    expect(await terminal.exited).toBe(130);
    return terminal.screen().replace(/\s+/g, ' ');
  };

  test('approve: the key is still pending, and the mailed secret never works', async () => {
    const { smtp, release, arrived, variables } = await slowServer();
    const identifier = await request(deps, { profile });
    const said = await interrupt(variables, arrived, ['keys', 'approve', identifier, '--yes']);
    expect(said).toContain(`key ${identifier} is still pending. If the mail arrives, the secret in it will never work`);
    expect(said).toMatch(/approve again after 20\d\d-[0-9T:.-]+Z/);
    release();
    expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'open' } });
    await smtp.stop();
    expect(showKey(deps, identifier).state).toBe('pending');
  });

  test('revoke: the key is revoked', async () => {
    const { release, arrived, variables } = await slowServer();
    const { identifier } = await issue(deps, { profile });
    const said = await interrupt(variables, arrived, ['keys', 'revoke', identifier, '--yes', '--reason', 'Leaked.']);
    expect(said).toContain(`key ${identifier} is revoked`);
    expect(showKey(deps, identifier).state).toBe('revoked');
    release();
  });

  test('request: it is pending, and keys list shows it', async () => {
    const { release, arrived, variables } = await slowServer();
    const words = [
      '--profile',
      profile,
      '--name',
      'Bot',
      '--permission',
      'api.lookup',
      '--description',
      'x'.repeat(80),
    ];
    const said = await interrupt(variables, arrived, ['keys', 'request', ...words, '--yes']);
    expect(said).toContain(`the request is pending, and "profilectl keys list --profile ${profile}" shows it`);
    expect(await keysListed(deps, { profile })).toMatchObject([{ state: 'pending' }]);
    release();
  });

  test('also without a terminal, where the wait is not shown', async () => {
    const { release, arrived, variables } = await slowServer();
    const identifier = await request(deps, { profile });
    const child = Bun.spawn(profilectlWords(['keys', 'approve', identifier, '--json']), {
      env: commandEnvironment(variables),
      cwd: PROJECT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    await arrived;
    child.kill('SIGINT');
    expect(await child.exited).toBe(130);
    const { error } = JSON.parse(await child.stderr.text());
    expect(error).toContain('is still pending');
    expect(await child.stdout.text()).toBe('');
    release();
  });
});

test('Ctrl-C while going through the queue also says that earlier decisions remain in effect', async () => {
  const deps = testDeps();
  insertProfile(deps.db, { id: 1, username: 'ada' });
  insertProfile(deps.db, { id: 2, username: 'bob' });
  const first = await request(deps, { profile: 'ada' });
  const second = await request(deps, { profile: 'bob' });
  const { smtp, release, arrived, variables } = await slowServer((mail) => mail.raw.includes(second));
  const words = ['keys', 'approve', '--permission', 'api.lookup', '--rate-limit', '1/1s', '--expires', '1d'];
  const terminal = openTerminal(words, { ...variables, DATABASE_PATH: deps.config.databasePath });
  for (const identifier of [first, second]) {
    await terminal.see(identifier);
    await terminal.see('What now?');
    terminal.type(`${KEY.down}${KEY.enter}`);
    await terminal.see('Reason:');
    terminal.type(`No.${KEY.enter}`);
    await terminal.see(`Reject the request for key ${identifier}?`);
    terminal.type(`y${KEY.enter}`);
    if (identifier === first) await terminal.see(`${first} rejected`);
  }
  await arrived;
  terminal.type(KEY.ctrlC);
  expect(await terminal.exited).toBe(130);
  const said = terminal.screen().replace(/\s+/g, ' ');
  expect(said).toContain(
    `key ${second} is rejected. It is unknown whether the mail was sent. Earlier decisions remain in effect`,
  );
  expect(showKey(deps, second).state).toBe('rejected');
  release();
  await smtp.stop();
});
