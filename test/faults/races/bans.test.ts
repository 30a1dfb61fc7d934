import { describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { showKey } from '../../../shared/keys/view.ts';
import { parseRateLimits } from '../../../shared/limits/rate-limit.ts';
import { profilectl } from '../../support/cli.ts';
import { startLineChild } from '../../support/commands.ts';
import { get } from '../../support/http.ts';
import { issue, request } from '../../support/keys.ts';
import { type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { sendLines, tokenFor } from '../../support/manage.ts';
import { changeByHand, importLines, insertProfile, jsonLines } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

// Bans while servers answer requests: by real commands and feeds, and during approvals of another process.

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

describe('a running server', () => {
  const start = (databasePath: string) =>
    startServerProcess({ DATABASE_PATH: databasePath, TRUSTED_PROXIES: '127.0.0.1' });

  test('refuses the keys of a banned profile from 10 ms after the commit, and accepts them from 10 ms after the unban', async () => {
    const access = testDeps();
    await importLines(access, [ADA, EVE]);
    const quota = 500;
    const rateLimits = parseRateLimits([`${quota}/1d`]);
    const { secret } = await issue(access, { profile: 'ada' }, { rateLimits });
    const { secret: other } = await issue(access, { profile: 'eve' });
    const token = tokenFor(access);
    const { databasePath } = access.config;
    const server = await start(databasePath);
    const https = { 'X-Forwarded-For': '192.0.2.1', 'X-Forwarded-Proto': 'https' };
    const line = (banned: boolean) => ({ ...ADA, banned });
    const bans: Record<string, (banned: boolean) => Promise<unknown>> = {
      command: async (banned) => {
        const words = ['profiles', banned ? 'ban' : 'unban', 'ada'];
        expect(await profilectl(words, { variables: { DATABASE_PATH: databasePath } })).toMatchObject({ code: 0 });
      },
      feed: async (banned) => {
        const answer = await sendLines(server, token, '', jsonLines(line(banned)), https);
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

  test('accepts no key of a profile that is banned during an approval, including the approved one', async () => {
    const deps = testDeps();
    const { databasePath } = deps.config;
    const random = seededRandom('bans beside approvals');
    const approver = await startLineChild(join(import.meta.dir, 'approve-child.ts'), databasePath);
    const server = await start(databasePath);
    const outcomes: Record<string, number> = {};
    let approvalMs = 0;
    for (let id = 1; id <= rounds(7); id++) {
      const profile = `user${insertProfile(deps.db, { id })}`;
      const { secret: old } = await issue(deps, { profile });
      const identifier = await request(deps, { profile });
      const secrets = () => [old, ...secretsMailed(`${databasePath}.mail`, identifier)];
      const expectRefused = async () => {
        for (const secret of secrets()) expect((await ask(server, '/api/key', secret)).status).toBe(401);
      };
      expect((await ask(server, '/api/key', old)).status).toBe(200);
      const begunAt = performance.now();
      approver.send(identifier);
      const end = approver.next();
      // The first approval is not disturbed and measures how long one takes; bans hit the others at any moment.
      if (id === 1) approvalMs = await end.then(() => performance.now() - begunAt);
      else await Bun.sleep(random() * 0.5 * approvalMs);
      if (id % 2 === 0) changeByHand(deps, profile, { banned: true });
      else await importLines(deps, [{ id, banned: true }], { merge: true });
      await Bun.sleep(TAKES_EFFECT_MS);
      await expectRefused();
      const isActive = (await end) === 'Active';
      expect(showKey(deps, identifier)).toMatchObject(
        isActive ? { state: 'Active', refusedFor: 'ban' } : { state: 'pending', refusedFor: null },
      );
      await expectRefused();
      changeByHand(deps, profile, { banned: false });
      await Bun.sleep(TAKES_EFFECT_MS);
      const works = await Promise.all(secrets().map(async (one) => (await ask(server, '/api/key', one)).status));
      const wasMailed = works.length > 1;
      expect(works).toEqual([200, ...(wasMailed ? [isActive ? 200 : 401] : [])]);
      const outcome = isActive ? 'approved' : wasMailed ? 'voided' : 'refused';
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    process.stderr.write(`approvals beside bans: ${JSON.stringify(outcomes)}\n`);
    expect(outcomes.approved).toBeGreaterThan(0);
    expect(await server.end()).toBe(0);
  }, 300_000);
});

/** The secrets in a folder's mails about this key. */
function secretsMailed(folder: string, identifier: string): string[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.eml') && name.includes(identifier));
  const texts = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  return texts.flatMap((text) => new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`).exec(text)?.[0] ?? []);
}
