import { expect, test } from 'bun:test';
import { parseRateLimits } from '../../../shared/limits/rate-limit.ts';
import { profilectl } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { issue } from '../../support/keys.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { addBackend } from '../../support/people.ts';
import { importLines, jsonLines } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

// Bans while a server answers requests: by real commands and feeds. test/shared/keys/ban.test.ts bans during approvals.

/** A request that begins this long after a ban or unban is committed follows it. */
const TAKES_EFFECT_MS = 10;

const ADA = { id: 7, username: 'ada', email: 'ada@example.org', createdAt: '2024-05-01T00:00:00.000Z' };
const EVE = { id: 8, username: 'eve', email: 'eve@example.org', createdAt: '2024-05-01T00:00:00.000Z' };

let addresses = 0;

/** Sends a request on a new connection, from an IP address without failed logins. */
function ask(server: ServerProcess, path: string, secret: string): Promise<Response> {
  const address = `2001:db8:${(++addresses).toString(16)}::1`;
  const headers = { Connection: 'close', 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' };
  return get(server, path, secret, { headers });
}

test('a running server refuses the keys of a banned profile from 10 ms after the commit, and accepts them from 10 ms after the unban', async () => {
  const access = testDeps();
  await importLines(access, [ADA, EVE]);
  const quota = 500;
  const rateLimits = parseRateLimits([`${quota}/1d`]);
  const { secret } = await issue(access, { profile: 'ada' }, { rateLimits });
  const { secret: other } = await issue(access, { profile: 'eve' });
  const token = addBackend(access).token;
  const { databasePath } = access.config;
  const server = await startServerProcess({ DATABASE_PATH: databasePath, TRUSTED_PROXIES: '127.0.0.1' });
  const https = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' };
  const line = (banned: boolean) => ({ ...ADA, banned });
  const bans: Record<string, (banned: boolean) => Promise<unknown>> = {
    command: async (banned) => {
      const words = ['profiles', banned ? 'ban' : 'unban', 'ada'];
      expect(await profilectl(words, { variables: { DATABASE_PATH: databasePath } })).toMatchObject({ code: 0 });
    },
    feed: async (banned) => {
      const headers = { 'Content-Type': 'application/jsonl', ...https };
      const init = { method: 'POST', body: jsonLines(line(banned)), headers };
      const answer = await get(server, '/manage/v1/profiles', token, init);
      expect(await answer.json()).toMatchObject({ imported: 1 });
    },
  };
  let admitted = 0;
  const expectAnswered = async () => {
    const answer = await ask(server, '/api/lookup/uid/7', secret);
    expect([answer.status, await answer.json()]).toMatchObject([200, { banned: false }]);
    admitted++;
  };
  await expectAnswered();
  for (const change of Object.values(bans)) {
    await change(true);
    await Bun.sleep(TAKES_EFFECT_MS);
    for (const path of ['/api/lookup/uid/7', '/api/key', '/api/nothing']) {
      const answer = await ask(server, path, secret);
      expect([answer.status, await answer.json()]).toMatchObject([401, { error: 'This API key is not valid.' }]);
    }
    expect(await (await ask(server, '/api/lookup/uid/7', other)).json()).toMatchObject({ banned: true });
    await change(false);
    await Bun.sleep(TAKES_EFFECT_MS);
    await expectAnswered();
  }
  // Requests before each ban still count after it; refused ones do not.
  const key = (await (await ask(server, '/api/key', secret)).json()) as { rateLimits: { remaining: number }[] };
  expect(key.rateLimits[0]?.remaining).toBe(quota - admitted);
  expect(await server.end()).toBe(0);
}, 60_000);
