import { expect, test } from 'bun:test';
import type { ServerResponse } from 'node:http';
import { systemClock } from '../../../shared/clock.ts';
import { get } from '../../support/http.ts';
import { issue, request } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { sendDueNotices } from '../../support/mail/notices.ts';
import { startWebhook } from '../../support/mail/webhook.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';

// The admins' webhook with real processes: each message arrives whatever is killed, and only once from two senders.

const LEASE_MS = 120_000;

async function world() {
  const webhook = await startWebhook();
  const held: ServerResponse[] = [];
  const deps = testDeps({ variables: { ADMIN_WEBHOOK_URL: webhook.url } });
  insertProfile(deps.db);
  const sendDue = (aheadMs = 0) => {
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
    return sendDueNotices({ ...deps, clock }, () => undefined, false);
  };
  const variables = { DATABASE_PATH: deps.config.databasePath, ADMIN_WEBHOOK_URL: webhook.url };
  const hold = () => {
    webhook.answer = (response) => held.push(response);
  };
  const posted = async (count: number) => {
    while (webhook.posted.length < count) await Bun.sleep(10);
  };
  const results = () => deps.db.$client.query('SELECT result, tries FROM notices ORDER BY id').all();
  return { webhook, held, deps, sendDue, variables, hold, posted, results };
}

test('a message that hung when its server was killed is sent again by the next one, after the lease', async () => {
  const w = await world();
  w.hold();
  const identifier = await request(w.deps);
  const server = await startServerProcess(w.variables);
  await w.posted(1);
  await server.end('SIGKILL');
  w.webhook.answer = (response) => response.writeHead(204).end();
  await w.sendDue();
  expect(w.webhook.posted).toHaveLength(1);
  await w.sendDue(LEASE_MS);
  expect(w.webhook.posted.map(({ body }) => body.includes(identifier))).toEqual([true, true]);
  expect(w.results()).toEqual([{ result: 'accepted', tries: 2 }]);
}, 60_000);

test('a server with WORKERS=2 sends one message, and answers lookups while the webhook hangs', async () => {
  const w = await world();
  w.hold();
  await request(w.deps);
  const { secret } = await issue(w.deps);
  const server = await startServerProcess({ ...w.variables, WORKERS: '2' });
  await w.posted(1);
  const beganAt = performance.now();
  for (let count = 0; count < 20; count++) {
    expect((await get(server, '/api/key', secret)).status).toBe(200);
  }
  expect(performance.now() - beganAt).toBeLessThan(5_000);
  expect([w.webhook.posted.length, w.held.length]).toEqual([1, 1]);
  w.held[0]?.writeHead(204).end();
  while (JSON.stringify(w.results()).includes('waiting')) await Bun.sleep(10);
  expect(await server.end('SIGTERM')).toBe(0);
  expect(w.webhook.posted).toHaveLength(1);
  expect(server.printed()).not.toContain('s3cret');
}, 60_000);

test('one of two simultaneous senders sends a message', async () => {
  const w = await world();
  for (let round = 1; round <= 10; round++) {
    insertProfile(w.deps.db, { id: round + 1 });
    await request(w.deps, { profile: `user${round + 1}` });
    w.hold();
    const runs = [w.sendDue(round * 1_000_000), w.sendDue(round * 1_000_000)];
    await w.posted(round);
    w.held.at(-1)?.writeHead(204).end();
    await Promise.all(runs);
    expect(w.webhook.posted).toHaveLength(round);
  }
});
