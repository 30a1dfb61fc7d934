import { Database } from 'bun:sqlite';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { hashSecret } from '../../shared/keys/secret.ts';
import { PROJECT } from '../support/cli.ts';
import { DESCRIPTION } from '../support/keys.ts';
import { type Bench, CORE, closeBench, openBench, run } from './bench.ts';
import { generateLines, secretOf } from './database.ts';
import { floodTraffic } from './flood.ts';
import { ask, type Traffic, traffic } from './load.ts';
import { alternate, loading } from './measure.ts';
import {
  anyId,
  batch,
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
import { intervalOf, median } from './results.ts';
import { startServe, type Target } from './servers.ts';

// `bun test/bench/against.ts <folder>`: the processor time that a request takes of this checkout's server, divided by that
// of another checkout of the project, for every kind of request. Each has a database of its own with the same profiles, and
// the two are loaded in turn, round by round. A ratio above 1 means that this checkout takes more.

type Case = { name: string; asked: (bench: Bench, server: Target) => Traffic | Promise<Traffic> };

const SAMPLED = 2_000;

const hot = (bench: Bench) => hotIds(bench.profiles);

const CASES: readonly Case[] = [
  {
    name: 'hot',
    asked: (bench) =>
      traffic(
        bench,
        hot(bench).map((id) => lookup(id)),
      ),
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
      // The servers may make different tags of the same body.
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
        many(2_000, () =>
          batch(
            hot(bench)
              .toSorted(() => Math.random() - 0.5)
              .slice(0, 100),
          ),
        ),
      ),
  },
  { name: 'not-found', asked: (bench) => traffic(bench, many(DISTINCT, missing), { isRefused: true }) },
  { name: 'flood', asked: (bench) => floodTraffic(bench) },
];

/** The `profilectl` of a checkout. */
const commandOf = (folder: string, ...words: string[]) => [process.execPath, join(folder, 'cli/main.ts'), ...words];

/** A database of this checkout's own schema with the generated profiles and one key. */
async function databaseOf(bench: Bench, folder: string, name: string): Promise<string> {
  const path = join(bench.folder, `${name}.db`);
  await run(bench, commandOf(folder, 'profiles', 'import', await generateLines(bench, bench.profiles), '--db', path), {
    core: CORE.any,
  });
  const sqlite = new Database(path, { strict: true });
  sqlite.run(
    `INSERT INTO api_keys (identifier, profile_id, name, description, state, requested_permissions, requested_at)
     VALUES (?, 1, 'Bench', ?, 'pending', '["api.lookup","api.leaderboard"]', 0)`,
    [secretOf(0).slice(4, 12), DESCRIPTION],
  );
  sqlite.run(
    `UPDATE api_keys SET state = 'Active', permissions = requested_permissions, decided_at = 0, secret_hash = ?,
     rate_limits = '[{"quota":1000000,"windowSeconds":1}]'`,
    [hashSecret(secretOf(0))],
  );
  sqlite.close();
  return path;
}

/** The server of a checkout, which takes addresses of strangers from the client, as behind a proxy. */
async function serverOf(bench: Bench, folder: string, name: string): Promise<Target> {
  const variables = { DATABASE_PATH: await databaseOf(bench, folder, name), PORT: '0', TRUSTED_PROXIES: '127.0.0.1' };
  return startServe(bench, commandOf(folder, 'serve'), variables);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '2' },
    profiles: { type: 'string', default: '100000' },
    case: { type: 'string', multiple: true, default: CASES.map(({ name }) => name) },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('Say where the other checkout is: bun test/bench/against.ts <folder>');
const bench = openBench({
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  profiles: Number(values.profiles),
  keep: null,
});
try {
  const mine = await serverOf(bench, PROJECT, 'this');
  const theirs = await serverOf(bench, realpathSync(other), 'other');
  for (const { name, asked } of CASES.filter(({ name }) => values.case.includes(name))) {
    const loads = await alternate(bench, {
      mine: loading(bench, mine, await asked(bench, mine)),
      theirs: loading(bench, theirs, await asked(bench, theirs)),
    });
    const ratios = loads.mine.map(({ cpuMicros }, round) => cpuMicros / (loads.theirs[round]?.cpuMicros as number));
    const [least, most] = intervalOf(ratios).map((ratio) => ratio.toFixed(3));
    const micros = (taken: readonly { cpuMicros: number }[]) => median(taken.map((one) => one.cpuMicros)).toFixed(1);
    process.stdout.write(
      `${name.padEnd(12)} ${median(ratios).toFixed(3)} (${least}–${most}); ${micros(loads.mine)} µs, other ${micros(loads.theirs)} µs\n`,
    );
    const faults = [...loads.mine, ...loads.theirs].flatMap((load) => load.faults);
    for (const fault of faults) process.stdout.write(`  wrong: ${fault}\n`);
  }
} finally {
  closeBench(bench);
}
