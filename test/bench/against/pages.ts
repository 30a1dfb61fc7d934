import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DESCRIPTION } from '../../support/keys.ts';
import { type Bench, CORE, spawn } from '../bench.ts';
import { openLoop } from '../cases/latency.ts';
import { formatRequest, load, type Question, type Traffic, traffic } from '../load.ts';
import { alternate } from '../measure.ts';
import type { OpenLoopReport } from '../open-loop.ts';
import { isBanned, profileBody, usernameOf } from '../profiles.ts';
import { hotIds, lookup } from '../questions.ts';
import type { Target } from '../servers.ts';
import { type Pair, printFaults, printRatio } from './servers.ts';

/** A running server, and the folder of its mails. */
export type Running = Target & { mails: string };

/** Half of the requests for pages that one block of IP addresses may have open at a time. */
const PAGE_CONNECTIONS = 16;
const FLOOD_CONNECTIONS = 200;
const ACTION_EVERY_MS = 200;
/** The load of lookups, as a share of the throughput that wrk reaches with the other checkout. */
const SHARE_OF_MAXIMUM = 0.25;
const TIME_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 20;

/** Processor time of all threads for the first page, the sign-in page, and an owner's page of keys. */
export async function pagesAgainst(bench: Bench, servers: Pair<Running>): Promise<void> {
  const owner = visitor(1);
  const cookies = { mine: await signIn(servers.mine, owner), theirs: await signIn(servers.theirs, owner) };
  const pages = { 'page-home': '/developers', 'page-sign-in': '/developers/sign-in', 'page-keys': '/developers/keys' };
  for (const [name, path] of Object.entries(pages)) {
    const loaded = (whose: keyof typeof servers) => {
      const isRight: Question['isRight'] = ({ status, body }) => status === 200 && body.includes('</html>');
      const asked = traffic(bench, [{ path, headers: { Cookie: cookies[whose], Accept: 'text/html' }, isRight }]);
      return (turn: { seconds: number; seed: number }) =>
        load(bench, servers[whose], asked, { ...turn, isOurs: true, connections: PAGE_CONNECTIONS });
    };
    const { mine, theirs } = await alternate(bench, { mine: loaded('mine'), theirs: loaded('theirs') });
    const micros = [mine, theirs].map((loads) => loads.map(({ cpuMicros }) => cpuMicros)) as [number[], number[]];
    printRatio(name, ...micros, 'µs');
    printFaults([...mine, ...theirs].flatMap(({ faults }) => faults));
  }
}

/**
 * The 99th percentile of lookups sent on a fixed schedule: during five actions a second (requesting a code, signing in with
 * it, requesting a key), compared with the same server alone; and during a flood of connections for a page, compared with the
 * other checkout.
 */
export async function p99Against(bench: Bench, servers: Pair<Running>, asked: Traffic): Promise<void> {
  const ids = hotIds(bench.profiles);
  const questions = ids.map((id) => ({ request: formatRequest(lookup(id)), body: profileBody(id) }));
  const maximum = await load(bench, servers.theirs, asked, { seconds: bench.seconds + 1, seed: 1, isOurs: true });
  const perSecond = maximum.perSecond * SHARE_OF_MAXIMUM;
  const alone = (server: Running) => (turn: { seconds: number }) =>
    openLoop(bench, { port: server.port, questions, perSecond, seconds: turn.seconds });
  const owners = { mine: ownersFrom(2), theirs: ownersFrom(2) };
  const faults: string[] = [];
  const acting = (whose: keyof typeof servers) => async (turn: { seconds: number }) => {
    const actions = act(servers[whose], owners[whose], turn.seconds);
    const report = await alone(servers[whose])(turn);
    faults.push(...(await actions));
    return report;
  };
  const flooded = (server: Running) => async (turn: { seconds: number }) => {
    // A second longer than the lookups, whose client takes a moment to start.
    const words = ['wrk', '-t1', `-c${FLOOD_CONNECTIONS}`, `-d${turn.seconds + 1}s`];
    const flood = spawn(bench, ['nice', '-n', '5', ...words, `http://127.0.0.1:${server.port}/developers`], {
      core: CORE.client,
    });
    const report = await alone(server)(turn);
    await flood.exited;
    return report;
  };
  const { mine, theirs } = servers;
  const taken = await alternate(bench, {
    alone: alone(mine),
    otherAlone: alone(theirs),
    actions: acting('mine'),
    otherActions: acting('theirs'),
    flood: flooded(mine),
    otherFlood: flooded(theirs),
  });
  const p99 = (reports: readonly OpenLoopReport[]) => reports.map(({ p99Ms }) => p99Ms);
  printRatio('p99-actions ÷ alone', p99(taken.actions), p99(taken.alone), 'ms');
  printRatio('p99-actions', p99(taken.actions), p99(taken.otherActions), 'ms');
  printRatio('p99-page-flood', p99(taken.flood), p99(taken.otherFlood), 'ms');
  printFaults([...faults, ...Object.values(taken).flatMap((reports) => reports.flatMap(({ wrong }) => wrong))]);
}

/** An owner who visits, with their own IP address. */
type Visitor = { name: string; email: string; from: string };

function visitor(id: number): Visitor {
  return { name: usernameOf(id), email: `owner${id}@example.org`, from: `198.18.${id >> 8}.${id & 255}` };
}

/** Owners in sequence, starting with this profile. */
function* ownersFrom(first: number): Generator<Visitor, never> {
  for (let id = first; ; id++) if (!isBanned(id)) yield visitor(id);
}

/** Starts actions for `seconds`: owners request a code, sign in with it, and request a key. Returns errors. */
async function act(server: Running, owners: Generator<Visitor, never>, seconds: number): Promise<string[]> {
  const faults: string[] = [];
  const visits: Promise<void>[] = [];
  const endAt = performance.now() + seconds * 1000;
  while (performance.now() < endAt) {
    visits.push(requestKey(server, owners.next().value).catch((error) => void faults.push(String(error))));
    // Each visit is three actions.
    await Bun.sleep(3 * ACTION_EVERY_MS);
  }
  await Promise.all(visits);
  return faults;
}

async function requestKey(server: Running, owner: Visitor): Promise<void> {
  const cookie = await signIn(server, owner);
  const fields = { name: 'Bench', description: DESCRIPTION, permissions: 'api.lookup' };
  await send(server, owner, '/developers/keys/new', cookie, {
    ...fields,
    ...{ projectUrl: '', expectedUsage: '', successorOf: '' },
  });
}

/** Signs in an owner with the mailed code; returns the cookie. */
async function signIn(server: Running, owner: Visitor): Promise<string> {
  const asked = { name: owner.name, address: owner.email, next: '' };
  const waiting = await send(server, owner, '/developers/sign-in', '', asked);
  const code = await codeFor(server.mails, owner.email);
  return send(server, owner, '/developers/sign-in/code', waiting, { code, next: '' });
}

/** Sends a form as a browser does; returns the cookies of the response. Throws if it is refused. */
async function send(
  { port }: Target,
  { from }: Visitor,
  path: string,
  cookie: string,
  fields: Record<string, string>,
): Promise<string> {
  const headers = { Cookie: cookie, 'X-Forwarded-For': from, 'Sec-Fetch-Site': 'same-origin' };
  const form = { method: 'POST', headers, body: new URLSearchParams(fields), redirect: 'manual' } as const;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, form);
  await answer.text();
  if (answer.status >= 400) throw new Error(`${path} returned ${answer.status}`);
  return answer.headers
    .getSetCookie()
    .map((value) => value.split(';', 1)[0])
    .join('; ');
}

/** Waits for the mail with an owner's code, and deletes it. */
async function codeFor(mails: string, address: string): Promise<string> {
  const deadline = performance.now() + TIME_LIMIT_MS;
  while (performance.now() < deadline) {
    for (const name of existsSync(mails) ? readdirSync(mails) : []) {
      if (!name.endsWith('Z-sign-in.eml') || name.startsWith('.')) continue;
      const mail = readFileSync(join(mails, name), 'utf8');
      const code = /^[0-9A-Z]{4}-[0-9A-Z]{4}$/m.exec(mail)?.[0];
      if (/^To: (\S+)$/m.exec(mail)?.[1] !== address || code === undefined) continue;
      rmSync(join(mails, name), { force: true });
      return code;
    }
    await Bun.sleep(LOOK_EVERY_MS);
  }
  throw new Error('a sign-in mail did not arrive');
}
