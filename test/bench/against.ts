import { realpathSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { PROJECT } from '../support/cli.ts';
import { memoryAgainst } from './against/memory.ts';
import { p99Against, pagesAgainst, type Running } from './against/pages.ts';
import { KEYS, type Pair, printFaults, printRatio, sideOf } from './against/servers.ts';
import { startAgainst } from './against/start.ts';
import { transferAgainst } from './against/transfer.ts';
import { type Bench, closeBench, openBench } from './bench.ts';
import { floodTraffic } from './cases/flood.ts';
import { ask, type Traffic, traffic } from './load.ts';
import { alternate, loading } from './measure.ts';
import {
  anyId,
  batch,
  bearer,
  boardPages,
  DISTINCT,
  hotIds,
  LOOKUP_OF_NAME,
  links,
  lookup,
  many,
  missing,
  unchanged,
} from './questions.ts';
import type { Target } from './servers.ts';

// `bun test/bench/against.ts <folder>`: processor time per request of this checkout's server divided by that of
// another checkout, for every kind of request and for pages; likewise the time to start, memory, the 99th percentile,
// and commands that process all profiles. Each has its own database with the same profiles, and both are loaded in
// turn, round by round. A ratio above 1 means that this checkout takes more.

type Case = { name: string; asked: (bench: Bench, server: Target) => Traffic | Promise<Traffic> };

const SAMPLED = 2_000;

const hot = (bench: Bench) => hotIds(bench.profiles);
const hotLookups = (bench: Bench) => hot(bench).map((id) => lookup(id));

const CASES: readonly Case[] = [
  {
    name: 'hot',
    asked: (bench) => traffic(bench, hotLookups(bench)),
  },
  {
    name: 'uniform',
    asked: (bench) =>
      traffic(
        bench,
        many(SAMPLED, () => lookup(anyId(bench.profiles))),
        { names: LOOKUP_OF_NAME },
      ),
  },
  {
    name: 'links',
    asked: (bench) =>
      traffic(
        bench,
        many(DISTINCT, () => links(anyId(bench.profiles))),
      ),
  },
  { name: 'leaderboard', asked: (bench) => traffic(bench, boardPages(bench.profiles)) },
  {
    name: 'not-modified',
    asked: async (bench, server) => {
      const questions = [];
      // The servers may make different tags for the same body.
      for (const id of hot(bench)) {
        questions.push(unchanged(id, (await ask(server, lookup(id))).headers.get('etag') ?? ''));
      }
      return traffic(bench, questions);
    },
  },
  {
    name: 'batch',
    asked: (bench) =>
      traffic(
        bench,
        many(2_000, (at) =>
          batch(
            hot(bench)
              .toSorted(() => Math.random() - 0.5)
              .slice(0, 100),
            bearer(at % KEYS),
          ),
        ),
      ),
  },
  { name: 'not-found', asked: (bench) => traffic(bench, many(DISTINCT, missing), { isRefused: true }) },
  { name: 'flood', asked: (bench) => floodTraffic(bench) },
];

/** All cases; the last five are in other files. */
const NAMES = [...CASES.map(({ name }) => name), 'transfer', 'start', 'memory', 'pages', 'p99'];

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
if (unknown !== undefined)
  throw new Error(`Unknown case ${unknown}; --case accepts, once or several times: ${NAMES.join(', ')}.`);
const bench = openBench({
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  profiles: Number(values.profiles),
  keep: null,
});
try {
  const sides = {
    mine: await sideOf(bench, PROJECT, 'this'),
    theirs: await sideOf(bench, realpathSync(other), 'other'),
  };
  const isAsked = (name: string) => values.case.includes(name);
  if (isAsked('transfer')) await transferAgainst(bench, sides);
  if (isAsked('start')) await startAgainst(bench, sides);
  if (isAsked('memory')) await memoryAgainst(bench, sides, traffic(bench, hotLookups(bench)));
  const run = async ({ start, mails }: typeof sides.mine): Promise<Running> => ({ ...(await start()), mails });
  const servers = { mine: await run(sides.mine), theirs: await run(sides.theirs) };
  // Before the lookups: these spend hundreds of thousands of requests of the owner's keys, more than any real key may, and the
  // owner's page reads the recent ones from the quota file.
  if (isAsked('pages')) await pagesAgainst(bench, servers);
  for (const one of CASES.filter(({ name }) => isAsked(name))) await lookupsAgainst(bench, servers, one);
  if (isAsked('p99')) await p99Against(bench, servers, traffic(bench, hotLookups(bench)));
} finally {
  closeBench(bench);
}

async function lookupsAgainst(bench: Bench, servers: Pair<Target>, { name, asked }: Case): Promise<void> {
  const { mine, theirs } = await alternate(bench, {
    mine: loading(bench, servers.mine, await asked(bench, servers.mine)),
    theirs: loading(bench, servers.theirs, await asked(bench, servers.theirs)),
  });
  const micros = [mine, theirs].map((loads) => loads.map(({ cpuMicros }) => cpuMicros)) as [number[], number[]];
  printRatio(name, ...micros, 'µs');
  printFaults([...mine, ...theirs].flatMap((load) => load.faults));
}
