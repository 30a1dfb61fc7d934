import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase } from '../../../shared/files/open.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { request } from '../../support/keys.ts';
import { startServerProcess } from '../../support/machine.ts';
import { startSmtp } from '../../support/mail.ts';
import { fetchPage } from '../../support/pages.ts';
import { enrol, signIn } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { depsBeside, tempFolder, testConfig } from '../../support/world.ts';

// Servers that end while an approval started on a page waits for a mail server that does not answer.

/** A mail server that receives a message and replies only when `speak` is called. */
async function startSilentSmtp() {
  const arrived = Promise.withResolvers<void>();
  const { promise: said, resolve: speak } = Promise.withResolvers<void>();
  const smtp = await startSmtp({
    onMessage: () => {
      arrived.resolve();
      return said;
    },
  });
  return { ...smtp, arrived: arrived.promise, speak };
}

/** A pending key and a signed-in admin. `send` approves the key on its page, `page` reads how the attempt is shown. */
async function prepare() {
  const smtp = await startSilentSmtp();
  const settings = {
    DATABASE_PATH: join(tempFolder(), 'profiles.db'),
    MAIL_URL: smtp.url,
    MAIL_FROM: 'keys@example.net',
    PUBLIC_URL: 'http://localhost:3000',
  };
  openDatabase(settings.DATABASE_PATH, 'serve').$client.close();
  const access = depsBeside(testConfig(settings));
  // Pages give up after 50 ms, which may be too short on a busy disk.
  for (const sqlite of [access.db.$client, access.db.$client]) sqlite.run('PRAGMA busy_timeout = 30000');
  await importLines(access, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  const identifier = await request(access, { profile: 'ada' });
  const { token } = await signIn(access, await enrol(access, 'Grace'));
  const path = `/developers/admin/keys/${identifier}`;
  const fields = { operation: 'approve', permissions: 'api.lookup', rateLimits: '60/1m', expires: '', retireOld: '' };
  const send = (at: { url: string }) => {
    const shown = keyRevision(access.db, identifier);
    const body = new URLSearchParams({ ...fields, shown });
    return fetchPage(at, `${path}/decide`, { method: 'POST', body, headers: { cookie: `session=${token}` } });
  };
  const page = async (at: { url: string }) => {
    const answer = await fetchPage(at, path, { headers: { cookie: `session=${token}` } });
    return /data-result="([a-z ]+)"/.exec(await answer.text())?.[1];
  };
  return { settings, access, identifier, smtp, send, page };
}

/** The same with a server process. */
async function approving() {
  const prepared = await prepare();
  const server = await startServerProcess(prepared.settings);
  return { ...prepared, server, arrived: prepared.smtp.arrived };
}

test('SIGTERM: an approval in progress is stored as not confirmed before the server exits', async () => {
  const { access, identifier, server, send, page, arrived } = await approving();
  expect((await send(server)).status).toBe(303);
  await arrived;
  expect(await page(server)).toBe('open');
  const code = server.end('SIGTERM');
  await server.see(/Stopping/);
  expect(await code).toBe(0);
  expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'not confirmed' } });
  expect(keyHistory(access, identifier).at(-1)).toMatchObject({
    event: 'approval not confirmed',
    by: 'admin Grace',
    detail: { attempt: 1, reason: expect.stringContaining('The server was stopped') },
  });
  expect(server.printed()).toContain(`Key ${identifier} was approved, but did not become Active; its page says why.`);
}, 60_000);

test('after a kill during mailing the next server shows the attempt as open, and starts no second one before its lease ends', async () => {
  const { settings, access, identifier, server, send, page, arrived } = await approving();
  expect((await send(server)).status).toBe(303);
  await arrived;
  await server.end('SIGKILL');
  const next = await startServerProcess(settings);
  expect(await page(next)).toBe('open');
  expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result: 'open' } });
  expect((await send(next)).status).toBe(503);
  const later = { ...access, clock: { nowMs: () => Date.now() + access.approvalLeaseMs } };
  expect(showKey(later, identifier).attempt?.result).toBe('not confirmed');
}, 60_000);
