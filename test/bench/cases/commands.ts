import { connect } from 'node:net';
import { join } from 'node:path';
import { cleanEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { type Bench, CORE, moveTo, spawn } from '../bench.ts';
import { generate } from '../database.ts';
import { ask, type Question } from '../load.ts';
import { alternate, ratiosOf } from '../measure.ts';
import { lookup } from '../questions.ts';
import { brief, countText, median, type Result } from '../results.ts';

// How long commands take to end, and servers to send their first response; on all cores, as people run them.

/** A run takes only milliseconds, so each round is the median of several runs. */
const RUNS = 9;

const START_LIMIT_MS = 10_000;

const UNCHECKED = { samples: 0, faults: [] };

type Timed = Pick<Result, 'name' | 'what' | 'goal'>;

async function compare(
  bench: Bench,
  about: Timed,
  turns: { bare: () => Promise<number>; ours: () => Promise<number> },
): Promise<Result> {
  // The sides alternate, so that both medians are from the same period.
  const ratios: number[] = [];
  const all: Record<keyof typeof turns, number[]> = { bare: [], ours: [] };
  moveTo(CORE.any);
  for (let round = 0; round < bench.rounds; round++) {
    const { bare, ours } = await alternate({ ...bench, rounds: RUNS }, turns, { warmsUp: round === 0 });
    ratios.push(...ratiosOf([median(ours)], [median(bare)]));
    all.bare.push(...bare);
    all.ours.push(...ours);
  }
  moveTo(CORE.client);
  const figures = { 'bare ms': brief(median(all.bare)), 'ours ms': brief(median(all.ours)) };
  return { ...about, ratios, figures, ...UNCHECKED };
}

/** Runs a command, and returns how many milliseconds it took. */
async function runTime(words: readonly string[]): Promise<number> {
  const started = performance.now();
  const child = Bun.spawn([...words], { cwd: PROJECT, env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'inherit'] });
  await Promise.all([child.exited, new Response(child.stdout).text()]);
  if (child.exitCode !== 0) throw new Error(`${words.join(' ')} ended with ${child.exitCode}`);
  return performance.now() - started;
}

const requiring = (...packages: string[]) => [
  process.execPath,
  '-e',
  packages.map((name) => `require('${name}')`).join(';'),
];

/** `profilectl --help`, compared with loading the parser of the command line. */
export async function help(bench: Bench): Promise<Result[]> {
  const about = { name: 'help', what: 'profilectl --help, time ÷ loading commander', goal: { max: 2 } };
  const turns = { bare: () => runTime(requiring('commander')), ours: () => runTime(profilectlWords(['--help'])) };
  return [await compare(bench, about, turns)];
}

/** `profilectl keys list` of a thousand keys, compared with loading the libraries it needs. */
export async function keysList(bench: Bench): Promise<Result[]> {
  const keys = 1_000;
  const { path } = await generate(bench, Math.ceil(keys / 3), keys);
  const what = `profilectl keys list of ${countText(keys)} keys, time ÷ loading commander, zod and drizzle`;
  const turns = {
    bare: () => runTime(requiring('commander', 'zod', 'drizzle-orm/bun-sqlite')),
    ours: () => runTime(profilectlWords(['keys', 'list', '--db', path])),
  };
  return [await compare(bench, { name: 'keys-list', what, goal: { max: 2 } }, turns)];
}

/** From start to the first 200, compared with an empty application of the framework. */
export async function starting(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const what = `start to first 200 with ${countText(bench.profiles)} profiles, time ÷ an empty Elysia's`;
  const isOk: Question['isRight'] = ({ status, body }) => status === 200 && body === 'ok';
  const empty = { path: '/', headers: {}, isRight: isOk };
  const turns = {
    bare: () => firstAnswer(bench, [process.execPath, join(import.meta.dir, '../bare/bare-elysia.ts')], empty),
    ours: () => firstAnswer(bench, profilectlWords(['serve']), lookup(1), { DATABASE_PATH: path }),
  };
  return [await compare(bench, { name: 'start', what, goal: { max: 3 } }, turns)];
}

/** Milliseconds from a server's start to its first response; then calls `look` with its process id, and stops it. */
export async function firstAnswer(
  bench: Bench,
  words: readonly string[],
  question: Question,
  variables: Record<string, string> = {},
  look: (pid: number) => void = () => {},
): Promise<number> {
  const port = freePort();
  const started = performance.now();
  const child = spawn(bench, words, { core: CORE.any, variables: { PORT: String(port), ...variables } });
  while (!(await isListening(port))) {
    if (child.exitCode !== null || performance.now() > started + START_LIMIT_MS) {
      throw new Error(`${words.at(-1)} does not listen`);
    }
  }
  const answer = await ask({ port }, question);
  const ms = performance.now() - started;
  look(child.pid);
  child.kill('SIGTERM');
  await child.exited;
  if (!question.isRight(answer)) throw new Error(`the first response was ${answer.status} ${answer.body}`);
  return ms;
}

/** A port on which no process currently listens. */
export function freePort(): number {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() });
  const { port } = server;
  void server.stop(true);
  return port as number;
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.on('connect', () => {
    socket.destroy();
    resolve(true);
  });
  socket.on('error', () => setTimeout(resolve, 1, false));
  return promise;
}
