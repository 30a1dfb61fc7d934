import { expect, test } from 'bun:test';
import { get, serverOn } from '../../../support/http.ts';
import { issue } from '../../../support/keys.ts';
import { freePort } from '../../../support/network/proxy.ts';
import { testAccess } from '../../../support/portal/access.ts';
import { ADA } from '../../../support/portal/owner-pages.ts';
import { fetchPage, signInOwner } from '../../../support/portal/pages.ts';
import { insertProfile } from '../../../support/profiles.ts';
import { testClock } from '../../../support/world.ts';

// Rate limits on the page of a key, on a whole server.

/** A server at its PUBLIC_URL, with an Active key of an owner who reads pages. */
async function world() {
  const port = freePort();
  const clock = testClock();
  clock.advance(Date.now() - clock.nowMs());
  const variables = { PUBLIC_URL: `http://127.0.0.1:${port}` };
  const access = testAccess({ variables, clock });
  const rateLimits = [
    { quota: 10, windowSeconds: 3_600 },
    { quota: 5_000, windowSeconds: 86_400 },
  ];
  insertProfile(access.db, ADA);
  const key = await issue(access, { profile: ADA.username }, { rateLimits });
  const cookie = signInOwner(access, ADA.id);
  const server = await serverOn({ ...access, clock }, undefined, { port });
  const readPage = async (path: string) =>
    (await fetchPage(server, `/developers/keys${path}`, { headers: { cookie } })).text();
  return { ...key, server, readPage };
}

/** Seconds, also on a machine that is busy with other tests. */
const SECONDS_MS = 15_000;

test('the page of a key shows within seconds what its program has spent, even if nothing is left', async () => {
  const { server, identifier, secret, readPage } = await world();
  expect(await readPage(`/${identifier}`)).toContain('<strong>10 left of 10 per hour</strong> <span>unused</span>');
  expect(await readPage('')).toContain('not used yet');
  for (let n = 0; n < 10; n++) expect((await get(server, '/api/lookup/username/nobody', secret)).status).toBe(404);
  expect((await get(server, '/api/lookup/username/nobody', secret)).status).toBe(429);
  const refusedAtMs = performance.now();
  /** Reads the page after a pause, so that polling takes no processor time from the server. */
  const readLater = async () => {
    await Bun.sleep(400);
    return readPage(`/${identifier}`);
  };
  // Limits are saved every 0.8 s.
  let page = '';
  while (!page.includes('<strong>0 left of 10 per hour</strong>')) page = await readLater();
  expect(page).toContain('<span>requests get 429 · ');
  expect(page).toContain('<strong>4\u202f990 left of 5\u202f000 per day</strong>');
  expect(await readPage('')).toContain('0 left of 10 per hour, so requests get 429</span> · last used <time');
  // Usage counts are saved within a second too, because no key was used in the nine seconds before.
  while (!page.includes('got 429 today')) page = await readLater();
  expect(page).toContain('<strong>1 of 11 requests got 429 today, over 10 per hour.</strong>');
  expect(performance.now() - refusedAtMs).toBeLessThan(SECONDS_MS);
});
