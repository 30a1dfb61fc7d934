import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { getTokenByBrowser } from '../../../../cli/remote/login/login-flow.ts';
import { DAY_MS } from '../../../../shared/clock.ts';
import { exitCodeOf } from '../../../../shared/errors.ts';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { listSignIns } from '../../../../shared/sign-ins/sign-ins.ts';
import { profilectl } from '../../../support/cli.ts';
import { runCommand } from '../../../support/machine/command.ts';
import { mountSmallDisk, NO_MOUNT } from '../../../support/machine/small-disk.ts';
import { KEY, openTerminal } from '../../../support/machine/terminal.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { signInAdmin } from '../../../support/portal/admin-pages.ts';
import {
  commandLines,
  decideOn,
  type Laptop,
  newDesktop,
  newLaptop,
  startLogin,
} from '../../../support/portal/logins.ts';
import { personTokenFor, tokenFor } from '../../../support/portal/manage.ts';
import { ADA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { serverOfPages } from '../../../support/portal/pages.ts';
import { refusal } from '../../../support/refusal.ts';
import { drawHalf, seededRandom } from '../../../support/rounds.ts';

// Logging in to a real server, from a machine that has only `profilectl`.

const chance = seededRandom('logins');
const port = freePort();
const url = `http://localhost:${port}`;
const world = await ownerWorld({ PUBLIC_URL: url });
await serverOfPages(world, { port });

const run = (laptop: Laptop, ...words: string[]) => runCommand(words, { variables: laptop.variables });
const storedIn = ({ file }: Laptop): Record<string, { token: string; endsAt: string | null }> =>
  JSON.parse(readFileSync(file, 'utf8')).hosts;
const inDays = (days: number) => new Date(world.clock.nowMs() + days * DAY_MS).toISOString();
const statusOf = async (token: string) =>
  (await fetch(`${url}/manage/v1/me`, { headers: { Authorization: `Bearer ${token}` } })).status;

/** Logs Ada in on this desktop. */
async function logIn(desktop: Laptop, ...words: string[]) {
  const login = await startLogin([url, ...words], desktop);
  const { goOn } = await decideOn(login.address, world.cookie, 'allow');
  const page = await fetch(goOn as string);
  return { page: await page.text(), ...(await login.finished) };
}

test('an owner logs in through the browser, sees who they are, and logs out, which revokes the token', async () => {
  const desktop = newDesktop();
  const login = await startLogin([url], desktop);
  expect(await desktop.opened()).toBe(login.address);
  const asked = new URL(login.address).searchParams;
  expect(Object.fromEntries(asked)).toMatchObject({ response_type: 'code', code_challenge_method: 'S256' });
  const { goOn } = await decideOn(login.address, world.cookie, 'allow');
  const page = await fetch(goOn as string);
  expect(await page.text()).toContain('Go back to the terminal');
  const { code, stdout, stderr } = await login.finished;
  const text = `Logged in to ${url} as ada (owner), until ${inDays(90)} at the latest.`;
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `${text}\nThe token is stored in ${desktop.file}, mode 0600.\n`,
  });
  const { token } = storedIn(desktop)[url] as { token: string };
  expect(token).toMatch(/^plt_/);
  expect(storedIn(desktop)).toEqual({ [url]: { token, endsAt: inDays(90) } });
  expect(statSync(desktop.file).mode & 0o777).toBe(0o600);
  expect(stdout + stderr).not.toContain(token);

  const whoami = await run(desktop, 'whoami');
  expect(whoami).toEqual({
    code: 0,
    stdout: `ada (owner), until ${inDays(90)} at the latest, at ${url}\n`,
    stderr: '',
  });
  const json = JSON.parse((await run(desktop, 'whoami', '--json')).stdout);
  expect(json).toEqual({ host: url, kind: 'owner', name: 'ada', token: token.slice(4, 12), endsAt: inDays(90) });
  expect(await run(desktop, 'logout')).toEqual({ code: 0, stdout: `Logged out of ${url}.\n`, stderr: '' });
  expect(storedIn(desktop)).toEqual({});
  expect(await statusOf(token)).toBe(401);
  expect(await run(desktop, 'whoami')).toMatchObject({ code: 4, stdout: '' });
});

/** The code in another form, so that the search for leaked codes does not find what is typed here. */
const typedAs = (code: string | null) => (code as string).toLowerCase().replace('-', ' ');

/** Starts a login without a browser. Returns the terminal that waits for the code, and the URL of the page. */
async function beginByCode(laptop: Laptop, ...words: string[]) {
  const terminal = openTerminal(['login', url, '--no-browser', ...words], laptop.variables);
  await terminal.see('Code from the page');
  const [address = ''] = /https?:\S+\/developers\/cli\?\S+/.exec(terminal.screen()) ?? [];
  return { terminal, address };
}

test('an admin can type the short code from the page, which stays visible, and is then logged in for twelve hours', async () => {
  const laptop = newLaptop();
  const { terminal, address } = await beginByCode(laptop, '--json');
  const { cookie } = await signInAdmin(world, 'Grace');
  const { goOn, code } = await decideOn(address, cookie, 'allow');
  expect(goOn).toBeNull();
  expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  terminal.type(`short${KEY.enter}`);
  await terminal.see('A code has eight letters and digits, like 7Q2M-X0A1.');
  terminal.type('\u007f'.repeat(5));
  const typed = typedAs(code);
  terminal.type(typed);
  await terminal.see(typed);
  terminal.type(KEY.enter);
  expect(await terminal.exited).toBe(0);
  expect(storedIn(laptop)[url]?.endsAt).toBe(inDays(0.5));
  expect(terminal.screen()).toContain('"kind":"admin","name":"Grace"');
});

test('a wrong code can be typed again, five times in total', async () => {
  const laptop = newLaptop();
  const { terminal } = await beginByCode(laptop);
  for (let tries = 1; tries < 5; tries++) {
    terminal.type(`0000 0000${KEY.enter}`);
    await terminal.see(new RegExp(`(This code does not work[\\s\\S]*Code from the page[\\s\\S]*){${tries}}`));
  }
  terminal.type(`0000 0000${KEY.enter}`);
  expect(await terminal.exited).toBe(1);
  expect(existsSync(laptop.file)).toBe(false);
});

test('no command line of any process has a token, a code or the PKCE verifier, without which a code is useless', async () => {
  // A browser that stays open, so that its command line can be read.
  const desktop = newLaptop({ BROWSER: 'sleep 5; true' });
  const seen: string[] = [];
  const login = await startLogin([url], desktop);
  const { goOn, code } = await decideOn(login.address, world.cookie, 'allow');
  // Another user of this machine who has read the URL, and even the code, has no verifier.
  const parameters = new URL(login.address).searchParams;
  const guess = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: 'profilectl',
    code: code as string,
    redirect_uri: parameters.get('redirect_uri') as string,
    code_verifier: parameters.get('state') as string,
  });
  const stolen = await fetch(`${url}/manage/v1/token`, { method: 'POST', body: guess });
  expect([stolen.status, await stolen.json()]).toMatchObject([400, { error: 'invalid_grant' }]);
  const watching = new AbortController();
  const watch = (async () => {
    while (!watching.signal.aborted) {
      seen.push(commandLines());
      await Bun.sleep(5);
    }
  })();
  await fetch(goOn as string);
  expect((await login.finished).code).toBe(0);
  expect((await profilectl(['whoami'], desktop)).code).toBe(0);
  watching.abort();
  await watch;
  const { token } = storedIn(desktop)[url] as { token: string };
  const all = seen.join('\n');
  expect(all.includes(login.address)).toBe(true);
  expect(all.includes('whoami')).toBe(true);
  expect([token, code as string].filter((secret) => all.includes(secret))).toHaveLength(0);
  const challenge = parameters.get('code_challenge');
  const hashes = (all.match(/[\w-]{43}/g) ?? []).map((text) =>
    new Bun.CryptoHasher('sha256').update(text).digest('base64url'),
  );
  expect(hashes.filter((hash) => hash === challenge)).toHaveLength(0);
});

describe('a failed login reports the reason and stores nothing', () => {
  test('after a refusal on the page (exit code 1)', async () => {
    const desktop = newDesktop();
    const login = await startLogin([url], desktop);
    const { goOn, code } = await decideOn(login.address, world.cookie, 'refuse');
    expect(code).toBeNull();
    await fetch(goOn as string);
    const { code: exit, stdout, stderr } = await login.finished;
    expect([exit, stdout]).toEqual([1, '']);
    expect(stderr).toEndWith('\nYou cancelled the login; nothing was changed.\n');
    expect(existsSync(desktop.file)).toBe(false);
  });

  test('after a response from another server, which the error names (exit code 1)', async () => {
    const cases: [string, string][] = [
      ['https://b.example.org/', `belongs to https://b.example.org, not to ${url}`],
      ['javascript:alert(1)', `does not belong to ${url}`],
      ['', `does not belong to ${url}`],
    ];
    const answers = cases.map(async ([iss, said]) => {
      const desktop = newDesktop();
      const login = await startLogin([url], desktop);
      const parameters = new URL(login.address).searchParams;
      const answer = new URLSearchParams({ code: 'x'.repeat(43), state: parameters.get('state') as string, iss });
      await fetch(`${parameters.get('redirect_uri')}?${answer}`);
      const { code, stderr } = await login.finished;
      expect(code).toBe(1);
      expect(stderr).toContain(`\nThe page that answered ${said}; nothing was changed.`);
      expect(existsSync(desktop.file)).toBe(false);
    });
    await Promise.all(answers);
  });

  test('after a wrong code (exit code 1)', async () => {
    const desktop = newDesktop();
    const login = await startLogin([url], desktop);
    const parameters = new URL(login.address).searchParams;
    const code = 'x'.repeat(43);
    const answer = new URLSearchParams({ code, state: parameters.get('state') as string, iss: url });
    await fetch(`${parameters.get('redirect_uri')}?${answer}`);
    const { code: exit, stderr } = await login.finished;
    expect(exit).toBe(1);
    expect(stderr).toContain('\nThis code does not work');
    expect(stderr).not.toContain(code);
    expect(existsSync(desktop.file)).toBe(false);
  });

  test('after Ctrl-C, while waiting for the browser and at the prompt (exit code 130)', async () => {
    const desktop = newDesktop();
    const waiting = openTerminal(['login', url], desktop.variables);
    await waiting.see('developers/cli?');
    waiting.type(KEY.ctrlC);
    expect(await waiting.exited).toBe(130);
    expect(waiting.screen()).toContain('Cancelled; nothing was changed.');
    const laptop = newLaptop();
    const asking = openTerminal(['login', url], laptop.variables);
    await asking.see('Code from the page');
    asking.type(KEY.ctrlC);
    expect(await asking.exited).toBe(130);
    expect([existsSync(desktop.file), existsSync(laptop.file)]).toEqual([false, false]);
  });

  test('if nobody decides within five minutes (exit code 75)', async () => {
    const { variables } = newDesktop();
    process.env.BROWSER = variables.BROWSER;
    try {
      const late = await refusal(getTokenByBrowser(url, 20));
      expect(exitCodeOf(late.code)).toBe(75);
      expect(late.message).toBe('You did not allow the login within five minutes; log in again.');
    } finally {
      delete process.env.BROWSER;
    }
  });
});

describe('without a browser', () => {
  test('login asks for the code on a terminal', async () => {
    const terminal = openTerminal(['login', url], newLaptop({ BROWSER: '/nowhere/browser' }).variables);
    await terminal.see('No browser could be opened.');
    await terminal.see('Code from the page');
    terminal.type(KEY.ctrlC);
    expect(await terminal.exited).toBe(130);
  });

  test('or a terminal, login says how to pass a token (exit code 2)', async () => {
    const laptops = [newLaptop(), newLaptop({ BROWSER: 'false' }), newLaptop({ DISPLAY: ':0', SSH_TTY: '/dev/pts/1' })];
    const logins = drawHalf(laptops, chance).map((laptop) => run(laptop, 'login', url));
    for (const { code, stdout, stderr } of await Promise.all(logins)) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(
        `There is neither a browser nor a terminal to log in with; pass a token to "profilectl login ${url} --with-token" on stdin`,
      );
    }
  });
});

describe('login --with-token', () => {
  const read = (laptop: Laptop, stdin: string, ...words: string[]) =>
    runCommand(['login', url, '--with-token', ...words], { variables: laptop.variables, stdin });

  test('stores a token of a person or a backend; a new login revokes the previous one, but logout does not revoke a backend’s', async () => {
    const laptop = newLaptop();
    const persons = personTokenFor(world.access, ownerToSign(world.access, ADA.id) as Signed);
    const platforms = tokenFor(world.access);
    const first = await read(laptop, `${persons}\n`);
    expect([first.code, first.stdout.split('\n')[0]]).toEqual([
      0,
      `Logged in to ${url} as ada (owner), until ${inDays(90)} at the latest.`,
    ]);
    const second = await read(laptop, platforms, '--json');
    expect(JSON.parse(second.stdout)).toEqual({
      host: url,
      kind: 'platform',
      name: 'backend',
      token: platforms.slice(4, 12),
      endsAt: null,
      file: laptop.file,
    });
    expect(await statusOf(persons)).toBe(401);
    const out = await run(laptop, 'logout');
    expect(out).toMatchObject({ code: 0, stdout: `Logged out of ${url}.\n` });
    expect(out.stderr).toBe(
      `The backend's token still works; "profilectl tokens remove" on the server itself removes it.\n`,
    );
    expect(await statusOf(platforms)).toBe(200);
  });

  test('refuses an invalid token (exit code 4) and malformed or empty input (exit code 2), without printing it', async () => {
    const laptop = newLaptop();
    const ended = `plt_00000000_${'x'.repeat(38)}`;
    const cases: [string, number, string][] = [
      [ended, 4, `${url} does not accept the token; run "profilectl login ${url}".`],
      ['hunter2 hunter2', 2, 'Standard input has no valid token.'],
      ['hünter2', 2, 'Standard input has no valid token.'],
      [' \n', 2, 'Standard input has no token.'],
    ];
    const refused = await Promise.all(cases.map(([stdin]) => read(laptop, stdin)));
    expect(refused).toEqual(cases.map(([, code, sentence]) => ({ code, stdout: '', stderr: `${sentence}\n` })));
    expect(existsSync(laptop.file)).toBe(false);
  });
});

/** The identifiers of Ada's tokens that work. */
function aliveTokens(): string[] {
  const listed = listSignIns(world.access, ownerToSign(world.access, ADA.id) as Signed, 'profilectl');
  return listed.filter(({ endedAtMs }) => endedAtMs === null).map(({ identifier }) => identifier);
}

test.skipIf(NO_MOUNT !== null)('a token that can’t be stored because the disk is full is revoked', async () => {
  const disk = mountSmallDisk(64 * 1024);
  const desktop = newDesktop();
  const full = { ...desktop, variables: { ...desktop.variables, XDG_CONFIG_HOME: disk.folder } };
  expect((await run(full, 'logout')).code).toBe(4);
  disk.fill();
  const before = aliveTokens();
  const { code, stdout, stderr } = await logIn(full);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`\nThe disk of ${disk.folder}/profilectl/hosts.json is full`);
  expect(aliveTokens()).toEqual(before);
});

test('PROFILECTL_TOKEN takes precedence over the stored token, and login, whoami and logout say so', async () => {
  const desktop = newDesktop();
  const token = tokenFor(world.access, { name: 'nightly' });
  const both = { ...desktop, variables: { ...desktop.variables, PROFILECTL_TOKEN: token } };
  const said = await logIn(both);
  expect(said.stderr).toEndWith('\nWarning: PROFILECTL_TOKEN is set, and is used instead of the stored token.\n');
  const whoami = await run(both, 'whoami');
  expect(whoami.stdout).toBe(`nightly (platform), until the token is removed, at ${url}, with PROFILECTL_TOKEN\n`);
  expect((await run(desktop, 'whoami')).stdout).toStartWith('ada (owner)');
  const out = await run(both, 'logout');
  expect(out.stderr).toBe('Warning: PROFILECTL_TOKEN is still set, and is used for requests.\n');
  expect(await statusOf(token)).toBe(200);
});

test('an expired token is refused, naming the command to run (exit code 4)', async () => {
  const desktop = newDesktop();
  await logIn(desktop);
  world.clock.advance(31 * DAY_MS);
  const sentence = `${url} does not accept the token; run "profilectl login ${url}".\n`;
  expect(await run(desktop, 'whoami')).toEqual({ code: 4, stdout: '', stderr: sentence });
  expect(JSON.parse((await run(desktop, 'whoami', '--json')).stderr)).toEqual({ error: sentence.trim() });
  expect((await run(desktop, 'logout')).code).toBe(0);
});
