import { expect, test } from 'bun:test';
import { closeSessionsFile, openSessionsFile } from '../../../../shared/sessions-file/sessions-file.ts';
import { get, serverOn } from '../../../support/http.ts';
import { importLines } from '../../../support/import.ts';
import { issue } from '../../../support/keys.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { ADA } from '../../../support/portal/owner-pages.ts';
import { fetchPage, signInOwner, unescaped } from '../../../support/portal/pages.ts';
import { drawHalf, seededRandom } from '../../../support/rounds.ts';
import { testClock, testDeps } from '../../../support/world.ts';

// Rate limits and the curl line on the page of a key, on a whole server, whose pages are in a thread of their own.

/** A server at its PUBLIC_URL, with an Active key and its signed-in owner. */
async function world(workers: string) {
  const port = freePort();
  const clock = testClock();
  clock.advance(Date.now() - clock.nowMs());
  const variables = { WORKERS: workers, PUBLIC_URL: `http://127.0.0.1:${port}` };
  const deps = { ...testDeps({ variables }), clock };
  await importLines(deps, [ADA]);
  const rateLimits = [
    { quota: 10, windowSeconds: 3_600 },
    { quota: 5_000, windowSeconds: 86_400 },
  ];
  const { identifier, secret } = await issue(deps, { profile: ADA.username }, { rateLimits });
  const sessions = openSessionsFile(deps.config.databasePath);
  const cookie = signInOwner({ ...deps, sessions }, ADA.id);
  closeSessionsFile(sessions);
  const server = await serverOn(deps, undefined, { port });
  const readPage = async (path: string) =>
    (await fetchPage(server, `/developers/keys${path}`, { headers: { cookie } })).text();
  /** Reads a page after a pause, so that polling takes no processor time from the server. */
  const readLater = async (path: string) => {
    await Bun.sleep(100);
    return readPage(path);
  };
  return { server, identifier, secret, readPage, readLater };
}

/** Seconds, also on a machine that is busy with other tests. */
const SECONDS_MS = 15_000;

const numbersOfWorkers = (name: string) => drawHalf(['1', '2'], seededRandom(name));

test.each(numbersOfWorkers('workers of a spent key'))(
  'the page of a key shows within seconds what its program has spent, even if nothing is left: %s workers',
  async (workers) => {
    const { server, identifier, secret, readPage, readLater } = await world(workers);
    expect(await readPage(`/${identifier}`)).toContain('<strong>10 left of 10 per hour</strong> <span>unused</span>');
    for (let n = 0; n < 10; n++) expect((await get(server, '/api/lookup/username/nobody', secret)).status).toBe(404);
    expect((await get(server, '/api/lookup/username/nobody', secret)).status).toBe(429);
    const refusedAtMs = performance.now();
    // Limits are saved every 0.8 s.
    let page = '';
    while (!page.includes('<strong>0 left of 10 per hour</strong>')) page = await readLater(`/${identifier}`);
    expect(page).toContain('<span>requests get 429 · ');
    expect(page).toContain('<strong>4\u202f990 left of 5\u202f000 per day</strong>');
    expect(await readPage('')).toContain('0 left of 10 per hour, so requests get 429</span> · last used <time');
    // Usage counts are saved within a second too, because no key was used in the nine seconds before.
    while (!page.includes('got 429 today')) page = await readLater(`/${identifier}`);
    expect(page).toContain('<strong>1 of 11 requests got 429 today, over 10 per hour.</strong>');
    expect(performance.now() - refusedAtMs).toBeLessThan(SECONDS_MS);
    await server.stop();
  },
);

test.each(numbersOfWorkers('workers of a tried key'))(
  'a key that was only tried by /api/key is not shown as unused: %s workers',
  async (workers) => {
    const { server, identifier, secret, readPage, readLater } = await world(workers);
    expect(await readPage('')).toContain('not used yet');
    const triedAtMs = performance.now();
    expect((await get(server, '/api/key', secret)).status).toBe(200);
    while (!(await readLater('')).includes('last used')) expect(performance.now() - triedAtMs).toBeLessThan(SECONDS_MS);
    expect(await readPage(`/${identifier}`)).toContain('last used');
    await server.stop();
  },
);

test.skipIf(Bun.which('curl') === null)(
  'the curl line on the page of a key works with the secret from the e-mail',
  async () => {
    const { server, identifier, secret, readPage } = await world('1');
    const page = await readPage(`/${identifier}`);
    expect(page).toContain(`<code data-copy="the base URL">http://127.0.0.1:${server.port}/api</code>`);
    const line = unescaped(/<code data-copy="the line">([^<]+)<\/code>/.exec(page)?.[1] as string);
    const child = Bun.spawn(['sh', '-c', line], { stdin: new Blob([`${secret}\n`]), stderr: 'ignore' });
    const printed = await child.stdout.text();
    expect(JSON.parse(printed.slice(printed.indexOf('{')))).toMatchObject({ identifier, permissions: ['api.lookup'] });
    await server.stop();
  },
);
