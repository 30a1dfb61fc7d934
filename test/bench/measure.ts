import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenLoopJob, OpenLoopReport } from './open-loop.ts';
import { NAMES } from './profiles.ts';
import { type Bench, CORE, type Pair, run, spawn, type Target } from './side.ts';

/** One request, and whether a response to it is right. */
export type Question = {
  path: string;
  headers: Record<string, string>;
  isRight: (answer: { status: number; body: string }) => boolean;
};

/** Questions of which wrk sends any; with `names`, it sends this path with the name of any profile instead. */
export type Traffic = { questions: readonly Question[]; names?: string };

/** The results of a round of load: throughput, and the server's processor time per request. */
export type Load = { perSecond: number; cpuMicros: number; faults: string[] };

const CONNECTIONS = 64;
const SAMPLE_PAUSE_MS = 25;
const TICKS_PER_SECOND = 100;

/** A request as sent on the wire. */
export function formatRequest({ path, headers }: Pick<Question, 'path' | 'headers'>): string {
  const fields = Object.entries({ Host: 'bench', 'User-Agent': 'bench', Accept: 'application/json', ...headers });
  return `GET ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Sends one request, and reads the response to its end. */
export async function ask(port: number, { path, headers }: Pick<Question, 'path' | 'headers'>) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** Loads a server with wrk for a round, and checks samples. Throws if a request broke or was refused. */
export async function load(bench: Bench, { port, pid }: Target, { questions, names }: Traffic, seed: number) {
  const [file, output] = ['requests', 'wrk'].map((name) => join(bench.folder, `${name}-${Bun.randomUUIDv7()}`)) as [
    string,
    string,
  ];
  const sent = names === undefined ? questions : [{ path: names, headers: questions[0]?.headers ?? {} }];
  writeFileSync(file, sent.map(formatRequest).join('\0'));
  const named = names === undefined ? [] : [bench.profiles, NAMES.prefix, NAMES.factor, NAMES.range].map(String);
  const words = ['-t1', `-c${CONNECTIONS}`, `-d${bench.seconds}s`, '--timeout', '10s'];
  const script = ['-s', join(import.meta.dir, 'load.lua'), `http://127.0.0.1:${port}/`, '--', file, `${seed}`];
  const before = cpuSeconds(pid);
  const wrk = spawn(bench, ['wrk', ...words, ...script, ...named], CORE.client, { output });
  const faults: string[] = [];
  while (wrk.exitCode === null) {
    const question = questions[Math.floor(Math.random() * questions.length)] as Question;
    const answer = await ask(port, question);
    if (!question.isRight(answer))
      faults.push(`${question.path} returned ${answer.status}: ${answer.body}`.slice(0, 500));
    await Promise.race([wrk.exited, Bun.sleep(SAMPLE_PAUSE_MS)]);
  }
  const cpu = cpuSeconds(pid) - before;
  const printed = readFileSync(output, 'utf8');
  const line = printed.split('\n').findLast((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk failed: ${printed.slice(-500)}`);
  const { requests, microseconds, broken, refused } = JSON.parse(line);
  if (requests === 0 || broken + refused > 0) {
    throw new Error(`of ${requests} requests ${broken} broke and ${refused} were refused`);
  }
  return { perSecond: requests / (microseconds / 1e6), cpuMicros: (cpu * 1e6) / requests, faults };
}

/** The processor time of all threads of a process so far, in seconds. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory of a process, in MiB. */
export function memoryOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** One round of requests sent on a fixed schedule. */
export async function openLoop(bench: Bench, job: OpenLoopJob): Promise<OpenLoopReport> {
  const file = join(bench.folder, `open-loop-${Bun.randomUUIDv7()}`);
  writeFileSync(file, JSON.stringify(job));
  const words = [process.execPath, join(import.meta.dir, 'open-loop.ts'), file];
  const child = spawn(bench, words, CORE.client, { output: `${file}.txt` });
  if ((await child.exited) !== 0) throw new Error(`the client failed: ${readFileSync(`${file}.txt`, 'utf8')}`);
  return JSON.parse(readFileSync(`${file}.txt`, 'utf8'));
}

/** Binds this process, and those that it starts afterwards, to the client's core. */
export function moveToClient(): void {
  run(['taskset', '-a', '-cp', CORE.client, String(process.pid)]);
}

/** Measures both sides in turn, round by round, so that other load on the machine affects both; the first is a warm-up. */
export async function alternate<T>(bench: Bench, turn: (whose: keyof Pair<T>, seed: number) => Promise<T>) {
  const taken: Pair<T[]> = { mine: [], theirs: [] };
  for (let round = 0; round <= bench.rounds; round++) {
    for (const whose of ['mine', 'theirs'] as const) {
      const result = await turn(whose, round + 1);
      if (round > 0) taken[whose].push(result);
    }
  }
  return taken;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] as number) + (sorted[Math.ceil(middle)] as number)) / 2;
}

/** Prints the median of mine ÷ theirs, round by round, its 95 % interval (of the sign test), and the medians of both. */
export function printRatio(name: string, { mine, theirs }: Pair<number[]>, unit: string): void {
  const ratios = mine.map((value, round) => value / (theirs[round] as number)).sort((a, b) => a - b);
  const below = Math.max(0, Math.floor((ratios.length - 1.96 * Math.sqrt(ratios.length)) / 2));
  const [min, max] = [ratios[below], ratios[ratios.length - 1 - below]].map((ratio) => ratio?.toFixed(3));
  const figures = `${median(mine).toFixed(1)} ${unit}, other ${median(theirs).toFixed(1)} ${unit}`;
  process.stdout.write(`${name.padEnd(20)} ${median(ratios).toFixed(3)} (${min}–${max}); ${figures}\n`);
}

/** Prints wrong responses. */
export function printFaults(faults: readonly string[]): void {
  for (const fault of faults) process.stdout.write(`  wrong: ${fault}\n`);
}
