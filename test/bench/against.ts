import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PROJECT } from '../support/cli.ts';
import { actOnPages, feed } from './beside.ts';
import {
  alternate,
  ask,
  formatRequest,
  load,
  median,
  memoryOf,
  moveToClient,
  openLoop,
  printFaults,
  printRatio,
  type Question,
  type Traffic,
} from './measure.ts';
import type { OpenLoopReport } from './open-loop.ts';
import { isBanned, linksBody, profileBody, usernameOf } from './profiles.ts';
import { type Bench, makeSide, type Pair, type Side, type Target } from './side.ts';

// `bun test/bench/against.ts <folder>` compares this checkout with another one in `<folder>`, whose packages are installed:
// processor time per request of each kind, latency beside pages and a feed, the first page, memory and the start. Both are
// loaded in turn, round by round. A ratio above 1 means that this checkout takes more. Needs two cores, wrk and taskset.

const HOT = 1_000;
const DISTINCT = 20_000;
const STARTS = 3;
const SETTLED_MS = 1_000;
/** The load of lookups beside other work, as a share of the other checkout's greatest throughput. */
const SHARE_OF_MAXIMUM = 0.25;

const LOADS = ['hot', 'uniform', 'links', 'not-modified', 'leaderboard', 'batch'] as const;
const NAMES = [...LOADS, 'p99-alone', 'p99-actions', 'p99-feed', 'memory', 'start'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '2' },
    profiles: { type: 'string', default: '100000' },
    case: { type: 'string', multiple: true, default: NAMES },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('Pass the folder of the other checkout: bun test/bench/against.ts <folder>');
const unknown = values.case.find((name) => !NAMES.includes(name));
if (unknown !== undefined) throw new Error(`Unknown case ${unknown}; --case accepts: ${NAMES.join(', ')}.`);
const isAsked = (name: string) => values.case.includes(name);

const bench: Bench = {
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  profiles: Number(values.profiles),
  folder: mkdtempSync(join(tmpdir(), 'profile-lookup-bench-')),
  children: new Set(),
};
const hot = Array.from({ length: HOT }, (_, at) => 1 + Math.floor((at * bench.profiles) / HOT));
const anyId = () => 1 + Math.floor(Math.random() * bench.profiles);
const many = (count: number, make: (at: number) => Question) => Array.from({ length: count }, (_, at) => make(at));
const keyOf = ({ secrets }: Side, at = 0) => ({ Authorization: `Bearer ${secrets[at % secrets.length]}` });

function lookup(side: Side, id: number): Question {
  const path = `/api/lookup/username/${usernameOf(id)}`;
  return { path, headers: keyOf(side), isRight: ({ status, body }) => status === 200 && body === profileBody(id) };
}

function batch(side: Side, at: number): Question {
  const ids = hot.toSorted(() => Math.random() - 0.5).slice(0, 100);
  const entries = () => ids.map((id) => `{"query":{"username":"${usernameOf(id)}"},"profile":${profileBody(id)}}`);
  return {
    path: `/api/lookup?${ids.map((id) => `username=${usernameOf(id)}`).join('&')}`,
    headers: keyOf(side, at),
    isRight: ({ status, body }) => status === 200 && body === `{"profiles":[${entries().join(',')}],"missing":[]}`,
  };
}

const hotLookups = (side: Side) => hot.map((id) => lookup(side, id));

const TRAFFIC: Record<(typeof LOADS)[number], (side: Side, server: Target) => Traffic | Promise<Traffic>> = {
  hot: (side) => ({ questions: hotLookups(side) }),
  uniform: (side) => ({
    questions: many(HOT, () => lookup(side, anyId())),
    names: '/api/lookup/username/{name}',
  }),
  links: (side) => ({
    questions: many(DISTINCT, () => {
      const id = anyId();
      const { path, headers } = lookup(side, id);
      return { path: `${path}/links`, headers, isRight: ({ body }) => body === linksBody(id) };
    }),
  }),
  'not-modified': async (side, { port }) => {
    const questions: Question[] = [];
    for (const question of hotLookups(side)) {
      const { headers } = await ask(port, question);
      const conditional = { ...question.headers, 'If-None-Match': headers.get('etag') ?? '' };
      questions.push({
        ...question,
        headers: conditional,
        isRight: ({ status, body }) => status === 304 && body === '',
      });
    }
    return { questions };
  },
  leaderboard: (side) => ({
    questions: many(Math.min(10_000, bench.profiles) - 100, (offset) => ({
      path: `/api/leaderboard?limit=50&offset=${offset}`,
      headers: keyOf(side),
      isRight: ({ status, body }) => status === 200 && JSON.parse(body).leaderboard.length === 50,
    })),
  }),
  batch: (side) => ({ questions: many(HOT, (at) => batch(side, at)) }),
};

/** The first response after a start; first page and memory after a start, the page, and load without a page. */
async function startAndMemory(sides: Pair<Side>): Promise<void> {
  const taken = await alternate(bench, async (whose, seed) => {
    const side = sides[whose];
    const started: number[] = [];
    for (let at = 1; at < STARTS; at++) started.push((await timedStart(side)).ms);
    const { server, ms } = await timedStart(side, false);
    started.push(ms);
    const settled = async () => {
      await Bun.sleep(SETTLED_MS);
      return memoryOf(server.pid);
    };
    const atStart = await settled();
    const before = performance.now();
    const { status } = await ask(server.port, { path: '/developers', headers: { 'Sec-Fetch-Site': 'none' } });
    const firstPage = performance.now() - before;
    if (status !== 200) throw new Error(`/developers returned ${status}`);
    const atPage = await settled();
    await load(bench, server, { questions: hotLookups(side) }, seed);
    const atLoad = await settled();
    await server.stop();
    return { start: median(started), firstPage, atStart, atPage, atLoad };
  });
  for (const [name, key, unit] of [
    ['start', 'start', 'ms'],
    ['first-page', 'firstPage', 'ms'],
    ['memory-start', 'atStart', 'MiB'],
    ['memory-first-page', 'atPage', 'MiB'],
    ['memory-load', 'atLoad', 'MiB'],
  ] as const) {
    printRatio(name, { mine: taken.mine.map((one) => one[key]), theirs: taken.theirs.map((one) => one[key]) }, unit);
  }
}

/** Milliseconds from the start of a server to its first lookup. */
async function timedStart(side: Side, isStopped = true): Promise<{ server: Target; ms: number }> {
  const before = performance.now();
  const server = await side.start();
  await ask(server.port, lookup(side, 1));
  const ms = performance.now() - before;
  if (isStopped) await server.stop();
  return { server, ms };
}

/** The 99th percentile of lookups sent on a fixed schedule: alone, while owners act on pages, and while a backend sends. */
async function p99(sides: Pair<Side>, servers: Pair<Target>): Promise<void> {
  const maximum = await load(bench, servers.theirs, { questions: hotLookups(sides.theirs) }, 1);
  const perSecond = maximum.perSecond * SHARE_OF_MAXIMUM;
  const owners = { mine: ownersFrom(2), theirs: ownersFrom(2) };
  // Not those that are looked up, whose responses are compared.
  const sent = hot.map((id) => id + 1).filter((id) => !hot.includes(id));
  const works: Record<string, (whose: keyof Pair<Side>) => Promise<string[]>> = {
    'p99-alone': async () => [],
    'p99-actions': (whose) => actOnPages(sides[whose], servers[whose].port, owners[whose], bench.seconds),
    'p99-feed': (whose) => feed(sides[whose], servers[whose].port, sent, bench.seconds),
  };
  for (const [name, work] of Object.entries(works).filter(([name]) => isAsked(name))) {
    const faults: string[] = [];
    const taken = await alternate(bench, async (whose): Promise<OpenLoopReport> => {
      const questions = hot.map((id) => ({ request: formatRequest(lookup(sides[whose], id)), body: profileBody(id) }));
      const working = work(whose);
      const job = { port: servers[whose].port, questions, perSecond, seconds: bench.seconds };
      const report = await openLoop(bench, job);
      faults.push(...(await working), ...report.wrong);
      return report;
    });
    const times = (reports: OpenLoopReport[]) => reports.map(({ p99Ms }) => p99Ms);
    printRatio(name, { mine: times(taken.mine), theirs: times(taken.theirs) }, 'ms');
    printFaults(faults);
  }
}

function* ownersFrom(first: number): Generator<number, never> {
  for (let id = first; ; id++) if (!isBanned(id)) yield id;
}

moveToClient();
try {
  const sides = { mine: makeSide(bench, PROJECT, 'this'), theirs: makeSide(bench, realpathSync(other), 'other') };
  if (isAsked('start') || isAsked('memory')) await startAndMemory(sides);
  const servers = { mine: await sides.mine.start(), theirs: await sides.theirs.start() };
  for (const name of LOADS.filter(isAsked)) {
    const traffic = {
      mine: await TRAFFIC[name](sides.mine, servers.mine),
      theirs: await TRAFFIC[name](sides.theirs, servers.theirs),
    };
    const taken = await alternate(bench, (whose, seed) => load(bench, servers[whose], traffic[whose], seed));
    const micros = (loads: typeof taken.mine) => loads.map(({ cpuMicros }) => cpuMicros);
    printRatio(name, { mine: micros(taken.mine), theirs: micros(taken.theirs) }, 'µs');
    printFaults([...taken.mine, ...taken.theirs].flatMap(({ faults }) => faults));
  }
  if (NAMES.some((name) => name.startsWith('p99') && isAsked(name))) await p99(sides, servers);
} finally {
  for (const child of bench.children) child.kill('SIGKILL');
  rmSync(bench.folder, { recursive: true, force: true });
}
