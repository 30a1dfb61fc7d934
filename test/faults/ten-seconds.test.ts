import { afterAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { DAY_MS } from '../../shared/clock.ts';
import { readConfig } from '../../shared/config/config.ts';
import { createDeps } from '../../shared/deps.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { moveAndNotify } from '../../shared/keys/life.ts';
import { keyRevision } from '../../shared/keys/record.ts';
import { keyHistory, showKey } from '../../shared/keys/view.ts';
import { sendDueMails } from '../../shared/mail/delivery.ts';
import { takeApart } from '../server/raw.ts';
import { profilectl } from '../support/cli.ts';
import { get, serverOn } from '../support/http.ts';
import { prepare, request } from '../support/keys.ts';
import { startServerProcess } from '../support/machine.ts';
import { startSmtp } from '../support/mail.ts';
import { ADA, fetchPage, SAME_ORIGIN, servePages } from '../support/pages.ts';
import { enrol, signIn } from '../support/people.ts';
import { importLines, insertProfile } from '../support/profiles.ts';
import { onBox, tempFolder, testClock, testDeps } from '../support/world.ts';

// What ends only after ten seconds: slow connections, a mail server that does not answer, a lock. All begin before the first test.

// Connections that send slowly.

// Behind a proxy, so that the forms come from many addresses.
const slow = await servePages({ TRUSTED_PROXIES: '127.0.0.1' });
const secret = await prepare({ ...slow.access, clock: slow.clock });

// Destroyed before the server is stopped, which would wait for them.
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** Sends `first`, then `drop` repeatedly. `closed` is when the server closes the connection, in milliseconds from its start. */
function dribble(first: string, drop: string): { closed: Promise<number>; said: () => string } {
  const startedAt = performance.now();
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  let said = '';
  const socket = connect(slow.server.port, '127.0.0.1', () => socket.write(first));
  const timer = setInterval(() => drop !== '' && socket.write(drop), 500);
  socket.on('data', (chunk) => {
    said += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    resolve(performance.now() - startedAt);
  });
  sockets.push(socket);
  return { closed, said: () => said };
}

const HEAD = 'GET /healthz HTTP/1.1\r\nHost: a\r\n';

function formFrom(address: string): string {
  const lines = Object.entries({ ...SAME_ORIGIN, 'X-Forwarded-For': address, Host: 'x', 'Content-Length': '60000' });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `POST /developers/sign-in HTTP/1.1\r\n${head}\r\nname=ada`;
}

/** What is sent at first, what again and again, and the statuses of the answers. */
const DRIBBLERS: Record<string, [first: string, drop: string, answers: number[]]> = {
  'nothing at all': ['', '', []],
  'a request line': ['GET /health', 'a', []],
  'one header': [`${HEAD}X-A: `, 'a', []],
  'one header after another': [HEAD, 'X-A: b\r\n', []],
  'the headers of a second request': [`${HEAD}\r\n${HEAD}X-A: `, 'a', [200]],
  'a body': ['POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n', 'a', [405]],
  'chunks of a body': ['POST /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\na\r\n', [405]],
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`form ${at}`, [formFrom(`10.0.${at}.1`), '', []]])),
};
const dribbling = Object.entries(DRIBBLERS).flatMap(([name, [first, drop]]) =>
  Array.from({ length: 25 }, () => ({ name, ...dribble(first, drop) })),
);
const closings = Promise.all(dribbling.map(({ closed }) => closed));

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

/**
 * A server process on whose page an admin has approved a key, while its mail is on the way. `send` approves it again, `page` reads
 * how the attempt is shown.
 */
async function approving() {
  const smtp = await startSilentSmtp();
  const settings = {
    DATABASE_PATH: join(tempFolder(), 'profiles.db'),
    MAIL_URL: smtp.url,
    MAIL_FROM: 'keys@example.net',
    PUBLIC_URL: 'http://localhost:3000',
  };
  openDatabase(settings.DATABASE_PATH, 'serve').$client.close();
  const access = testDeps({ variables: settings });
  // Pages give up after 50 ms, which may be too short on a busy disk.
  access.db.$client.run('PRAGMA busy_timeout = 30000');
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
    return /data-result="([a-z ]+)"/.exec(answer.body)?.[1];
  };
  const server = await startServerProcess(settings);
  expect((await send(server)).status).toBe(303);
  await smtp.arrived;
  return { settings, access, identifier, server, send, page };
}

const [stopped, killed] = await Promise.all([approving(), approving()]);
const isStopped = stopped.page(stopped.server).then(async (shown) => {
  expect(shown).toBe('open');
  return stopped.server.end('SIGTERM');
});

// A server that stops while its mail server has not answered yet.

const begun = Promise.withResolvers<void>();
const { url: MAIL_URL } = await startSmtp({
  onMessage: () => {
    begun.resolve();
    return new Promise(() => {});
  },
});
const clock = testClock(Date.now() - DAY_MS);
const mailing = { ...testDeps({ clock }), clock };
insertProfile(mailing.db);
const rejected = await request(mailing);
moveAndNotify(mailing, 'reject', { identifier: rejected, reason: 'No.', by: onBox('root') });
clock.advance(DAY_MS);
const hanging = readConfig({ DATABASE_PATH: mailing.config.databasePath, MAIL_URL, MAIL_FROM: 'keys@example.org' });
const mailServer = await serverOn({ ...mailing, ...createDeps(mailing.db, hanging), clock });
const isMailOver = begun.promise.then(mailServer.stop);

// A command that finds the database locked.

const locked = testDeps();
insertProfile(locked.db);
const pending = await request(locked);
locked.db.$client.run('BEGIN IMMEDIATE');
const refused = profilectl(['keys', 'withdraw', pending, '--db', locked.config.databasePath]);
for (const end of [isStopped, refused]) end.catch(() => undefined);

test('after a kill during mailing the next server shows the attempt as open, and starts no second one before its lease ends', async () => {
  const { settings, access, identifier, server, send, page } = killed;
  await server.end('SIGKILL');
  const next = await startServerProcess(settings);
  expect(await page(next)).toBe('open');
  expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result: 'open' } });
  expect((await send(next)).status).toBe(503);
  const later = { ...access, clock: { nowMs: () => Date.now() + access.approvalLeaseMs } };
  expect(showKey(later, identifier).attempt?.result).toBe('not confirmed');
}, 60_000);

test('a connection that sends slowly is dropped within 15 s, whatever it sends, and others are served', async () => {
  let isDone = false;
  void closings.then(() => {
    isDone = true;
  });
  const headers = { 'X-Forwarded-For': '192.0.2.9' };
  const { server } = slow;
  const body = new URLSearchParams({ name: 'ada', address: ADA.email, next: '' });
  do {
    const startedAt = performance.now();
    expect((await get(server, '/api/lookup/uid/7', secret, { headers })).status).toBe(200);
    expect((await fetchPage(server, '/developers', { headers })).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await Bun.sleep(100);
  } while (!isDone);
  expect((await fetchPage(server, '/developers/sign-in', { method: 'POST', body, headers })).status).toBe(303);
  expect(Math.max(...(await closings))).toBeLessThan(15_000);
  for (const { name, said } of dribbling) {
    const statuses = said()
      .split(/(?=HTTP\/1\.1 )/)
      .filter(Boolean)
      .map((text) => takeApart(text).status);
    expect([name, statuses]).toEqual([name, DRIBBLERS[name]?.[2] ?? []]);
  }
}, 30_000);

test('SIGTERM: an approval in progress is stored as not confirmed before the server exits', async () => {
  const { access, identifier, server } = stopped;
  expect(await isStopped).toBe(0);
  expect(showKey(access, identifier)).toMatchObject({ state: 'pending', attempt: { result: 'not confirmed' } });
  expect(keyHistory(access, identifier).at(-1)).toMatchObject({
    event: 'approval not confirmed',
    by: 'admin Grace',
    detail: { attempt: 1, reason: expect.stringContaining('The server was stopped') },
  });
  expect(server.printed()).toContain(`Key ${identifier} was approved, but did not become Active; its page says why.`);
}, 60_000);

test('a server stops although its mail server hangs, and the next one sends the mail', async () => {
  await isMailOver;
  const sent: string[] = [];
  clock.advance(DAY_MS);
  await sendDueMails(mailing, (_level, text) => void sent.push(text));
  expect(sent).toEqual([`The rejection mail about key ${rejected} was sent.`]);
}, 60_000);

test('a command that finds the database locked gives up after ten seconds (exit code 75)', async () => {
  expect(await refused).toMatchObject({ code: 75, stdout: '', stderr: expect.stringContaining('locked') });
  locked.db.$client.run('ROLLBACK');
}, 60_000);
