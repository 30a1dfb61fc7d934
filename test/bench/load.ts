import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CORE, type Core, spawn } from './bench.ts';
import { MAX_PROFILES, NAMES } from './profiles.ts';
import type { Target, TypicalAnswer } from './servers.ts';

/** A response as a client sees it. */
export type Answer = { status: number; headers: Headers; body: string };

/** One request, and whether a response to it is right. */
export type Question = { path: string; headers: Record<string, string>; isRight: (answer: Answer) => boolean };

/** The requests of clients, and their form for wrk. */
export type Traffic = {
  /** The requests that are sampled, and unless `names` is set also those that are sent, in random order. */
  questions: readonly Question[];
  /** The file of formatted requests. */
  file: string;
  /** If set, `{name}` is replaced by the name of a random one of this many profiles. */
  names: number | null;
  /** Whether every response has to be a refusal; otherwise none may be. */
  isRefused: boolean;
};

/** The results of one round of load. */
export type Load = {
  requests: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The server's processor time: microseconds per request, and the share of its core. */
  cpuMicros: number;
  cpuShare: number;
  bytesEach: number;
  samples: number;
  /** Samples with a wrong response. */
  faults: string[];
};

/** How a round is driven. wrk `spins` if it has the client's core to itself, and otherwise sleeps while it waits. */
export type LoadOptions = {
  seconds: number;
  seed: number;
  connections?: number;
  isOurs: boolean;
  core?: Core;
  spins?: boolean;
};

const CONNECTIONS = 64;
const SAMPLE_PAUSE_MS = 25;
const TICKS_PER_SECOND = 100;

/** Formats requests for wrk, each once; with `names`, only that one, whose path contains `{name}`. */
export function traffic(
  bench: Bench,
  questions: readonly Question[],
  { names = null, isRefused = false }: { names?: Question | null; isRefused?: boolean } = {},
): Traffic {
  const file = join(bench.folder, `requests-${Bun.randomUUIDv7()}.txt`);
  writeFileSync(file, (names === null ? questions : [names]).map(formatRequest).join('\0'));
  return { questions, file, names: names === null ? null : Math.min(bench.profiles, MAX_PROFILES), isRefused };
}

/** A request as sent on the wire. */
export function formatRequest({ path, headers }: Question): string {
  const fields = Object.entries({ Host: 'bench', 'User-Agent': 'bench', Accept: 'application/json', ...headers });
  return `GET ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Loads a server with wrk for a round, and samples responses. Throws if a status was not as expected. */
export async function load(bench: Bench, target: Target, what: Traffic, options: LoadOptions): Promise<Load> {
  const output = join(bench.folder, `wrk-${Bun.randomUUIDv7()}.txt`);
  const words = ['-t1', `-c${options.connections ?? CONNECTIONS}`, `-d${options.seconds}s`, '--timeout', '10s'];
  const core = options.core ?? CORE.client;
  const waiting = (options.spins ?? core === CORE.client) ? 'spin' : 'sleep';
  const script = [
    '-s',
    join(import.meta.dir, 'load.lua'),
    `http://127.0.0.1:${target.port}/`,
    '--',
    waiting,
    what.file,
  ];
  const names = what.names === null ? [] : [what.names, NAMES.prefix, NAMES.factor, NAMES.range].map(String);
  const before = cpuSeconds(target.pid);
  const wrk = spawn(bench, ['wrk', ...words, ...script, String(options.seed), ...names], { core, output });
  const { samples, faults } = await sampleUntil(wrk.exited, target, what.questions, options.isOurs);
  const cpu = cpuSeconds(target.pid) - before;
  const printed = readFileSync(output, 'utf8');
  const line = printed.split('\n').findLast((text) => text.startsWith('{'));
  if (line === undefined) throw new Error(`wrk failed: ${printed.slice(-500)}`);
  const { requests, microseconds, bytes, broken, refused, p50Micros, p99Micros } = JSON.parse(line);
  if (requests === 0 || broken > 0 || refused !== (what.isRefused ? requests : 0)) {
    throw new Error(`of ${requests} requests ${broken} broke and ${refused} were refused`);
  }
  return {
    requests,
    perSecond: requests / (microseconds / 1e6),
    p50Ms: p50Micros / 1000,
    p99Ms: p99Micros / 1000,
    cpuMicros: (cpu * 1e6) / requests,
    cpuShare: cpu / (microseconds / 1e6),
    bytesEach: bytes / requests,
    samples,
    faults,
  };
}

/** Sends about thirty requests a second until `end`; to the bare server too, so that both have the same work. */
async function sampleUntil(
  end: Promise<unknown>,
  target: Target,
  questions: readonly Question[],
  isOurs: boolean,
): Promise<{ samples: number; faults: string[] }> {
  let isDone = false;
  void end.finally(() => {
    isDone = true;
  });
  let samples = 0;
  const faults: string[] = [];
  while (!isDone) {
    const question = questions[Math.floor(Math.random() * questions.length)] as Question;
    const answer = await ask(target, question);
    if (isOurs) {
      samples++;
      if (!question.isRight(answer)) faults.push(describe(question, answer));
    }
    await Promise.race([end, Bun.sleep(SAMPLE_PAUSE_MS)]);
  }
  return { samples, faults };
}

/** Sends one request, and reads the response to its end. */
export async function ask({ port }: Pick<Target, 'port'>, { path, headers }: Question): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers, redirect: 'manual' });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

function describe({ path }: Question, { status, body }: Answer): string {
  return `${path.slice(0, 200)} returned ${status}: ${body.slice(0, 300)}`;
}

/** A response for a comparable bare server: one of ours with their average length, in ASCII, which is cheapest. */
export async function typicalAnswer(target: Target, questions: readonly Question[]): Promise<TypicalAnswer> {
  const answers: Answer[] = [];
  for (let at = 0; at < 200; at++) {
    const question = questions[Math.floor((at * questions.length) / 200)] as Question;
    const answer = await ask(target, question);
    if (!question.isRight(answer)) throw new Error(describe(question, answer));
    answers.push(answer);
  }
  const lengths = answers.map(({ body }) => Buffer.byteLength(body));
  const length = Math.round(lengths.reduce((sum, one) => sum + one, 0) / lengths.length);
  const { status, headers, body } = answers.at(-1) as Answer;
  const own = [...headers].filter(([name]) => !['date', 'content-length', 'connection'].includes(name));
  const ascii = body
    .replace(/[^ -~]/g, '?')
    .padEnd(length, 'x')
    .slice(0, length);
  return { status, headers: Object.fromEntries(own), body: ascii };
}

/** The processor time of all threads of a process so far, in seconds; Linux only. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
