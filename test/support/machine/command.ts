import { mock } from 'bun:test';
import { Readable, Writable } from 'node:stream';
import { type CommandOptions, commandEnvironment, type Finished, fromSource } from '../cli.ts';
import { noteOutput } from '../secret-search.ts';

/** The command that runs now: two at once would exchange their arguments, variables and output. */
let running: Promise<unknown> = Promise.resolve();

/** The number of the next command: a module is evaluated once for each of its names. */
let next = 0;

/**
 * Runs `profilectl` without a terminal, as `profilectl` of cli.ts does, but in this process, which takes a fifth of the time:
 * cli/main.ts is evaluated again, with its own arguments, variables, input and output. For what a command reads, does and
 * prints. Tests of open files, locks, signals, arguments that are not UTF-8, and of what it loads, start a process.
 */
export function runCommand(words: readonly string[], options: CommandOptions = {}): Promise<Finished> {
  const done = running.then(() => runAlone(words, options));
  running = done.catch(() => undefined);
  return done;
}

async function runAlone(words: readonly string[], options: CommandOptions): Promise<Finished> {
  const { variables, stdin = '', onError } = options;
  const [stdout, stderr] = [gather(), gather(onError)];
  const exit = mock((code: number) => code);
  const restore = replaceInProcess({
    argv: [...fromSource(), ...words],
    env: { ...commandEnvironment(variables), TZ: process.env.TZ },
    stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    exit,
  });
  try {
    await import(`../../../cli/main.ts?command=${next++}`);
  } finally {
    restore();
  }
  const printed = { stdout: stdout.text(), stderr: stderr.text() };
  noteOutput(printed.stdout + printed.stderr);
  return { code: exit.mock.calls[0]?.[0] ?? -1, ...printed };
}

/** Replaces these properties of `process`; returns what restores them. */
function replaceInProcess(values: Partial<Record<keyof NodeJS.Process, unknown>>): () => void {
  const before = Object.entries(values).map(([name, value]) => {
    const own = Object.getOwnPropertyDescriptor(process, name) as PropertyDescriptor;
    Object.defineProperty(process, name, { value, configurable: true, writable: true });
    return [name, own] as const;
  });
  return () => {
    for (const [name, own] of before) Object.defineProperty(process, name, own);
  };
}

/** A stream that keeps what is written to it. */
function gather(onMore: (text: string) => void = () => {}): { stream: Writable; text: () => string } {
  const chunks: Buffer[] = [];
  const text = () => Buffer.concat(chunks).toString();
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      onMore(text());
      done();
    },
  });
  return { stream, text };
}
