import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { commandEnvironment, PROJECT, profilectl, profilectlWords } from '../support/cli.ts';
import { DESCRIPTION, mailedSecrets } from '../support/keys.ts';
import { TEST_CA_FILE } from '../support/network/certificates.ts';
import { freePort, programPath, type ReverseProxy, startCaddy, through } from '../support/network/proxy.ts';
import { adminWorld, hiddenIn, signInAdmin } from '../support/portal/admin-pages.ts';
import { goOnIn } from '../support/portal/login.ts';
import { newDesktop } from '../support/portal/logins.ts';
import { type PageWorld, serverOfPages, signInOwner, visit } from '../support/portal/pages.ts';
import { confirming, type Decider, profilectlDeciding } from '../support/portal/remote.ts';

type Desktop = ReturnType<typeof newDesktop>;

/** About twelve processes. */
const LIMIT_MS = 60_000;

/** A server behind Caddy, with a URL known before it starts. */
async function startBehindCaddy(): Promise<{ world: PageWorld; proxy: ReverseProxy; url: string }> {
  const port = freePort();
  const proxy = await startCaddy(port);
  const url = `https://localhost:${proxy.httpsPort}`;
  const world = await adminWorld({ PUBLIC_URL: url, TRUSTED_PROXIES: '127.0.0.1' });
  world.clock.advance(Date.now() - world.clock.nowMs());
  await serverOfPages(world, { port });
  return { world, proxy, url };
}

/** A machine that trusts the test certificates. */
function trustingDesktop(): Desktop {
  const desktop = newDesktop();
  return { ...desktop, variables: { ...desktop.variables, NODE_EXTRA_CA_CERTS: TEST_CA_FILE } };
}

/** Logs in to a server as the person signed in with this cookie in the browser; returns the token. */
async function logIn(world: PageWorld, url: string, cookie: string, desktop: Desktop): Promise<string> {
  const child = Bun.spawn(profilectlWords(['login', url]), {
    env: commandEnvironment(desktop.variables),
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pathname, search } = new URL(await desktop.opened());
  const page = await visit(world, pathname + search, { cookie });
  const form: [string, string][] = [...hiddenIn(page), ['decision', 'allow']];
  const { body } = await visit(world, pathname, { cookie, form });
  await fetch(goOnIn(body) as URL);
  expect(await child.exited).toBe(0);
  return JSON.parse(readFileSync(desktop.file, 'utf8')).hosts[url].token;
}

test.skipIf(programPath('caddy') === null)(
  'profilectl on other machines leads a key through its whole life over HTTPS',
  async () => {
    const { world, proxy, url } = await startBehindCaddy();
    const { cookie, authenticator } = await signInAdmin(world, 'Grace');
    const grace = { cookie: `__Host-${cookie}`, authenticator };
    const [adas, graces] = [trustingDesktop(), trustingDesktop()];
    // Processes, because Bun itself reads the variable with the authority.
    const asAda = (words: string[]) => profilectl(words, adas);
    const asGrace = (words: string[], decide?: Decider) =>
      profilectlDeciding(words, graces.variables, decide, profilectl);
    const lookUp = async (secret: string) =>
      (await through(proxy, '/api/lookup/uid/7', { Authorization: `Bearer ${secret}` })).status;

    const adasToken = await logIn(world, url, signInOwner(world.access, 7), adas);
    const words = ['keys', 'request', '--name', 'Bot', '--permission', 'api.lookup', '--description', DESCRIPTION];
    const requested = await asAda(words);
    expect(requested).toMatchObject({ code: 0, stderr: `On ${url}:\n` });
    const identifier = requested.stdout.slice(0, 8);

    const gracesToken = await logIn(world, url, grace.cookie, graces);
    const approved = await asGrace(['keys', 'approve', identifier, '--wait'], confirming(world, grace));
    expect(approved).toMatchObject({ code: 0, stdout: `${identifier} Active\n` });
    expect(await graces.opened()).toBe(`${url}/developers/admin/keys/${identifier}?operation=approve`);
    const [secret = ''] = mailedSecrets(world.access, identifier);
    expect(await lookUp(secret)).toBe(200);

    expect(await asAda(['keys', 'revoke', identifier])).toMatchObject({ code: 0, stdout: `${identifier} revoked\n` });
    expect(await lookUp(secret)).toBe(401);

    for (const [run, token] of [
      [asAda, adasToken],
      [asGrace, gracesToken],
    ] as const) {
      expect(await run(['whoami'])).toMatchObject({ code: 0 });
      expect(await run(['logout'])).toMatchObject({ code: 0 });
      expect((await through(proxy, '/manage/v1/me', { Authorization: `Bearer ${token}` })).status).toBe(401);
    }
    expect((await asAda(['keys', 'list'])).code).toBe(2);
  },
  LIMIT_MS,
);
