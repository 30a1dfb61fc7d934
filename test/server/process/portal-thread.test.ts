import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../../server/observability/log.ts';
import { STYLE_PATH } from '../../../server/portal/style-path.ts';
import { NICENESS } from '../../../server/process/lower-priority.ts';
import { createPortalHandle, type PortalHandleParts } from '../../../server/process/portal-handle.ts';
import { startSweepTimer } from '../../../server/process/sweep-timer.ts';
import { createBackground, runInBackground, stopBackground } from '../../../server/thread/background.ts';
import { SERVICE } from '../../../shared/actor.ts';
import { systemClock } from '../../../shared/clock.ts';
import { write } from '../../../shared/db/write.ts';
import { mailSignIn } from '../../../shared/mail/outbox.ts';
import {
  closeSessionsFile,
  openSessionsFile,
  removeSessionsFile,
} from '../../../shared/sessions-file/sessions-file.ts';
import { serverOn } from '../../support/http.ts';
import { fetchPage, sentAgain, signInOwner } from '../../support/portal/pages.ts';
import { countSignInRows, countTickets } from '../../support/portal/sessions-rows.ts';
import { insertProfile } from '../../support/profiles.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';
import { testClock, testDeps } from '../../support/world.ts';

type Parts = Partial<PortalHandleParts> & { answerMs?: number };

/** A server with the list of its portal's threads, in the order of their start. */
async function serverWithThreads({ answerMs, ...parts }: Parts = {}, deps = { ...testDeps(), clock: testClock() }) {
  const threads: Worker[] = [];
  const lines: string[] = [];
  const portal = createPortalHandle({
    config: () => deps.config,
    clock: systemClock,
    log: createLog('info', systemClock.nowMs, (line) => void lines.push(line)),
    onThread: (worker) => void threads.push(worker),
    ...parts,
  });
  const server = await serverOn(deps, undefined, { portal, ...(answerMs !== undefined && { answerMs }) });
  return { server, portal, deps, threads, lines };
}

/** The same with a mail that is due when the server starts; `mails` returns the files of sent mails. */
async function serverWithDueMail(parts: Parts = {}) {
  const deps = { ...testDeps(), clock: testClock(systemClock.nowMs()) };
  insertProfile(deps.db, { id: 1 });
  const signIn = { profileId: 1, address: '192.0.2.7', agent: 'A browser' };
  const act = { by: SERVICE, atMs: deps.clock.nowMs() };
  write(deps.db, (tx) => mailSignIn(tx, deps.config, signIn, act));
  const mails = () => readdirSync(join(deps.folder, 'mail')).filter((name) => name.endsWith('.eml'));
  return { ...(await serverWithThreads(parts, deps)), mails };
}

// Servers that several tests use: with one thread, with two workers, and with a mail that is due.
const one = await serverWithThreads();
const due = await serverWithDueMail();
const two = await serverWithThreads({}, { ...testDeps({ variables: { WORKERS: '2' } }), clock: testClock() });

test('the thread is started once, by the first request for a page, and not for the style sheet of the pages', async () => {
  const { server, threads } = one;
  await fetch(`${server.url}/healthz`);
  await fetch(`${server.url}/docs`);
  expect((await fetch(`${server.url}${STYLE_PATH}`)).status).toBe(200);
  expect(threads.length).toBe(0);
  const answers = await Promise.all(Array.from({ length: 20 }, () => fetchPage(server, '/developers')));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(threads.length).toBe(1);
});

test.skipIf(process.platform !== 'linux')(
  'the thread has a lower priority than those that answer lookups',
  async () => {
    const { server } = one;
    expect((await fetchPage(server, '/developers')).status).toBe(200);
    const priorities = readdirSync('/proc/self/task').map((thread) => getPriority(Number(thread)));
    expect(priorities.includes(NICENESS)).toBe(true);
    expect(getPriority(process.pid)).toBeLessThan(NICENESS);
  },
);

test('if the database can’t be opened, a page says so, and the next request retries', async () => {
  // No request has started this server's thread yet.
  const { server, deps, lines } = two;
  const { config } = deps;
  await Bun.write(
    `${config.databasePath}.sessions`,
    'not a sessions file, but long enough to be taken for one. '.repeat(20),
  );
  const answer = await fetchPage(server, '/developers');
  const page = await answer.text();
  expect([answer.status, page.includes('sessions file')]).toEqual([500, false]);
  // The page still has what was typed, a cross-site form is refused first, and signing out ends the browser's session.
  const send = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const sent = await fetchPage(server, path, { method: 'POST', body, headers });
    return { code: sent.headers.get('x-error-code'), cookies: sent.headers.getSetCookie(), text: await sent.text() };
  };
  const typed = await send('/developers/sign-in', 'name=ada&address=b&next=');
  expect([typed.code, sentAgain(typed.text)[0]]).toEqual(['internal', ['name', 'ada']]);
  const foreign = { 'sec-fetch-site': 'same-site' };
  expect(await send('/developers/sign-out', '', foreign)).toMatchObject({ code: 'cross_site', cookies: [] });
  expect(await send('/developers/sign-out', '')).toEqual({
    code: 'internal',
    cookies: ['session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'],
    text: expect.stringContaining('This browser is signed out anyway'),
  });
  const requestId = answer.headers.get('x-request-id');
  expect(lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 'error', requestId, cause: expect.stringContaining('sessions') }),
  );
  await Bun.file(`${config.databasePath}.sessions`).delete();
  expect((await fetchPage(server, '/developers')).status).toBe(200);
});

test.each(drawHalf(['1', '2'], seededRandom('workers beside a dead thread')))(
  'a dead thread is logged, and restarted by a later request; no request waits for it: %s workers',
  async (WORKERS) => {
    const { server, threads, lines } = WORKERS === '1' ? one : two;
    expect((await fetchPage(server, '/developers')).status).toBe(200);
    const open = Array.from({ length: 10 }, () => fetchPage(server, '/developers'));
    const before = threads.length;
    threads.at(-1)?.terminate();
    for (const answer of await Promise.all(open)) {
      expect([200, 500, 503]).toContain(answer.status);
      expect(await answer.text()).toContain('<h1>');
    }
    let answer = await fetchPage(server, '/developers');
    while (answer.status !== 200) {
      // A thread that has just died is not restarted at once; a request in flight may still get a 500.
      expect([500, 503]).toContain(answer.status);
      if (answer.status === 503) await Bun.sleep(1_000 * Number(answer.headers.get('retry-after')));
      answer = await fetchPage(server, '/developers');
    }
    expect(threads.length).toBe(before + 1);
    expect(lines.join('')).toContain("The portal's thread died; the next request restarts it.");
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  },
);

test('a page of 20 KB and its head, with a Content-Length, are sent together, not each name and value of the head separately', async () => {
  const { server } = one;
  const first = Promise.withResolvers<string>();
  const socket = connect(server.port, '127.0.0.1', () => {
    const form = `description=${'a'.repeat(20_000)}`;
    const head = `Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${form.length}`;
    socket.write(`POST /developers/keys/new HTTP/1.1\r\nHost: a.example\r\n${head}\r\n\r\n${form}`);
  });
  socket.once('data', (chunk) => first.resolve(String(chunk)));
  expect(await first.promise).toMatch(
    /^HTTP\/1.1 403 Forbidden\r\n.*x-error-code: signed_out\r\n.*Content-Length: \d{5}\b.*\r\n\r\n<!doctype html>/is,
  );
  socket.destroy();
  const whole = await fetchPage(server, '/developers');
  const head = await fetchPage(server, '/developers', { method: 'HEAD' });
  const length = `${Buffer.byteLength(await whole.text())}`;
  expect([whole, head].map(({ headers }) => headers.get('content-length'))).toEqual([length, length]);
});

test('due mails are sent by the portal’s thread, not by one that answers lookups, even if nobody requests a page', async () => {
  const { server, threads, mails, lines } = due;
  while (!lines.join('').includes('The new-sign-in mail about')) await Bun.sleep(10);
  expect(mails()).toEqual([expect.stringContaining('new-sign-in')]);
  expect(threads.length).toBe(1);
  expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
});

test('a thread that dies while sending mails delays neither the next mails nor the stop', async () => {
  const dying = URL.createObjectURL(
    new Blob(['self.onmessage = ({ data }) => data.kind === "mails" && process.exit(1);']),
  );
  const { server, threads, lines } = await serverWithDueMail({ makeWorker: () => new Worker(dying) });
  while (!lines.join('').includes("The portal's thread died")) await Bun.sleep(10);
  expect(threads.length).toBe(1);
  await server.stop();
  expect(JSON.stringify(server.log)).not.toContain('Could not check for queued mails and expired keys.');
});

/**
 * A thread that has loaded its code and has the usual priority, so that it answers in time on a busy machine, too: on
 * such a machine, a thread with the lower priority may load its code for longer than the requests below may wait.
 */
async function loadedThread(): Promise<Worker> {
  const file = new URL('../../../server/process/portal-thread.ts', import.meta.url).href;
  const code = `require('node:os').setPriority = () => {}; await import('${file}'); postMessage('loaded');`;
  const worker = new Worker(URL.createObjectURL(new Blob([code])));
  const { promise: loaded, resolve } = Promise.withResolvers<unknown>();
  worker.addEventListener('message', resolve, { once: true });
  await loaded;
  return worker;
}

/** A server whose first thread hangs; requests wait for less than the two seconds for which a page waits for a lock. */
async function serverThatHangs(WORKERS: string) {
  // It hangs without using the processor, which the other tests need.
  const hanging = URL.createObjectURL(new Blob(['self.onmessage = () => { for (;;) Bun.sleepSync(10); };']));
  const prepared = [await loadedThread(), new Worker(hanging)];
  return serverWithThreads(
    { makeWorker: () => prepared.pop() as Worker, answerMs: 1_500 },
    { ...testDeps({ variables: { WORKERS } }), clock: testClock() },
  );
}

for (const WORKERS of drawHalf(['1', '2'], seededRandom('workers beside a thread that hangs'))) {
  const hung = await serverThatHangs(WORKERS);

  test(`a thread that hangs is replaced, and the requests that wait for it are refused: ${WORKERS} workers`, async () => {
    const { server, threads, lines } = hung;
    const answers = await Promise.all(Array.from({ length: 20 }, () => fetchPage(server, '/developers')));
    for (const answer of answers) {
      const page = await answer.text();
      expect([answer.status, page]).toEqual([503, expect.stringContaining('<h1>Not available right now</h1>')]);
      expect(page).toContain('Your request may still have been processed: check before you send it again.');
    }
    while ((await fetchPage(server, '/developers')).status !== 200) await Bun.sleep(10);
    expect(threads.length).toBe(2);
    expect(lines.join('')).toContain('The thread hung.');
  }, 20_000);

  test(`a request that waits too long is refused with a warning that it may still be processed, which it is: ${WORKERS} workers`, async () => {
    const { server, deps } = hung;
    // The thread runs once a response arrives in time.
    while ((await fetchPage(server, '/developers')).status !== 200) await Bun.sleep(10);
    const beside = openSessionsFile(deps.config.databasePath);
    beside.sqlite.run('BEGIN IMMEDIATE');
    const body = new URLSearchParams({ name: 'ada', address: 'ada@example.org', next: '' });
    const answer = await fetchPage(server, '/developers/sign-in', { method: 'POST', body });
    expect([answer.status, answer.headers.get('x-error-code')]).toEqual([503, 'busy']);
    const page = await answer.text();
    expect(page).toContain('Your request may still have been processed');
    expect(sentAgain(page)).toEqual([...body]);
    const requestId = answer.headers.get('x-request-id') as string;
    const logged = () => server.log.find((line) => line.requestId === requestId);
    // Workers log with a delay.
    while (logged() === undefined) await Bun.sleep(10);
    expect(JSON.stringify(logged())).toContain("The portal's thread took too long");
    beside.sqlite.run('ROLLBACK');
    while (countTickets(beside, 'sign-in code') !== 1) await Bun.sleep(10);
    closeSessionsFile(beside);
  }, 20_000);
}

test('deleting the sessions file of a running server signs everybody out', async () => {
  const { server, deps } = one;
  insertProfile(deps.db, { id: 7 });
  const beside = openSessionsFile(deps.config.databasePath);
  const access = { ...deps, clock: systemClock, sessions: beside };
  const headers = { cookie: signInOwner(access, 7) };
  closeSessionsFile(beside);
  const status = async () => (await fetchPage(server, '/developers/sessions', { headers })).status;
  expect([await status(), await status()]).toEqual([200, 200]);
  removeSessionsFile(deps.config.databasePath);
  expect([await status(), await status()]).toEqual([303, 303]);
  // Pages use the new file, into which a command writes here.
  const recreated = openSessionsFile(deps.config.databasePath);
  headers.cookie = signInOwner({ ...access, sessions: recreated }, 7);
  closeSessionsFile(recreated);
  expect(await status()).toBe(200);
});

test('if nobody requests a page, the thread is woken to delete old sign-ins, provided that there is a sessions file', async () => {
  // Until now, this thread has only sent a mail, for which it needs no sessions file.
  const { portal, deps, threads, lines } = due;
  insertProfile(deps.db, { id: 7 });
  // The thread retries if the file can't be opened at first.
  const broken = Bun.file(`${deps.config.databasePath}.sessions`);
  await broken.write('not a sessions file, but long enough to be taken for one. '.repeat(20));
  portal.wake();
  while (!lines.join('').includes('Expired sessions could not be deleted.')) await Bun.sleep(10);
  await broken.delete();
  const sessions = openSessionsFile(deps.config.databasePath);
  signInOwner({ ...deps, sessions }, 7);
  deps.db.$client.run("UPDATE profiles SET email = 'other@example.org' WHERE id = 7");
  const woken = { withFile: 0, without: 0 };
  const wakeOne = () => {
    woken.withFile++;
    portal.wake();
  };
  const timers = [
    startSweepTimer({ wake: () => woken.without++ }, testDeps().config.databasePath, 10),
    startSweepTimer({ wake: wakeOne }, deps.config.databasePath, 10),
  ];
  try {
    while (countSignInRows(sessions) !== 0 || woken.withFile < 3) await Bun.sleep(10);
    expect([threads.length, woken.without]).toEqual([1, 0]);
  } finally {
    await Promise.all(timers.map((timer) => timer.stop()));
    closeSessionsFile(sessions);
  }
}, 20_000);

test('several workers share one thread, and get the same page as a server with one', async () => {
  const { server, threads, lines } = two;
  expect((await fetchPage(server, '/developers')).status).toBe(200);
  const seen = new Set<string>();
  const wanted = await (await fetchPage(one.server, '/developers')).text();
  while (seen.size < 2) {
    const answer = await fetchPage(server, '/developers', { headers: { Connection: 'close' } });
    expect([answer.status, await answer.text()]).toEqual([200, wanted]);
    seen.add((answer.headers.get('x-request-id') as string).slice(0, 12));
  }
  const dead = lines.filter((line) => line.includes("The portal's thread died"));
  expect(threads.length - dead.length).toBe(1);
  await server.stop();
  const pages = server.log.filter(({ route }) => route === '/developers');
  expect(pages.length).toBeGreaterThanOrEqual(2);
  expect(server.log.at(-1)?.message).toBe('Stopped.');
});

test('stopping waits for the background work of pages, and aborts it when the time is up', async () => {
  const background = createBackground();
  const faults: unknown[] = [];
  const done: string[] = [];
  const run = (work: (signal: AbortSignal) => Promise<void>) =>
    runInBackground(background, work, (cause) => faults.push(cause));
  run(async () => {
    await Bun.sleep(10);
    done.push('short');
  });
  run(() => Promise.reject(new Error('Nobody listens.')));
  run(async (signal) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => resolve());
    await promise;
    done.push('stored as not confirmed');
  });
  await stopBackground(background, 50);
  expect(done).toEqual(['short', 'stored as not confirmed']);
  expect(faults).toEqual([expect.objectContaining({ message: 'Nobody listens.' })]);
  expect(background.running.size).toBe(0);
});
