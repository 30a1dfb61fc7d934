import { afterAll, mock } from 'bun:test';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { type CommandOptions, commandEnvironment, type Finished, PROJECT, profilectlWords } from '../support/cli.ts';
import { noteOutput } from '../support/secret-search.ts';
import { eventually } from '../support/world.ts';

const MAIN = join(PROJECT, 'cli/main.ts');

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
  const { variables, stdin = '' } = options;
  const [stdout, stderr] = [gather(), gather()];
  const exit = mock((code: number) => code);
  const restore = replaceInProcess({
    argv: [process.execPath, MAIN, ...words],
    env: { ...commandEnvironment(variables), TZ: process.env.TZ },
    stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    exit,
  });
  try {
    await import(`${MAIN}?command=${next++}`);
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
function gather() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

/** `profilectl` in a pseudo-terminal. */
export type Terminal = ReturnType<typeof openTerminal>;

/** Keys that are not letters. */
export const KEY = {
  enter: '\r',
  space: ' ',
  up: '\u001b[A',
  down: '\u001b[B',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  ctrlU: '\u0015',
} as const;

/** Wide enough for the longest question with a test run's paths, which would otherwise wrap differently each time. */
const WIDE = 300;

/** Starts `profilectl` in a terminal, with another command if given. */
export function openTerminal(
  words: readonly string[],
  variables: Record<string, string> = {},
  command: (words: readonly string[]) => string[] = profilectlWords,
  columns = WIDE,
) {
  let printed = '';
  let seenUpTo = 0;
  const decoder = new TextDecoder();
  const child = Bun.spawn(command(words), {
    env: commandEnvironment({ TERM: 'xterm', ...variables }),
    cwd: PROJECT,
    terminal: {
      cols: columns,
      rows: 40,
      data: (_terminal, bytes) => {
        printed += decoder.decode(bytes, { stream: true });
      },
    },
  });
  /** Everything printed so far, without escape sequences. */
  const screen = () => Bun.stripANSI(printed);
  afterAll(() => noteOutput(screen()));
  /** Waits until the text has appeared since the last wait; fails with the screen's content. */
  const see = async (text: string | RegExp) => {
    const rest = () => screen().slice(seenUpTo);
    let at = -1;
    await eventually(() => {
      at = typeof text === 'string' ? rest().indexOf(text) : rest().search(text);
      return at >= 0;
    }, rest);
    seenUpTo += at;
  };
  const type = (keys: string) => void child.terminal?.write(keys);
  return {
    see,
    type,
    screen,
    exited: child.exited,
    /** Waits until a question appears, and types. */
    answer: async (question: string | RegExp, keys: string) => {
      await see(question);
      type(keys);
    },
    /** The screen with escape sequences. */
    raw: () => printed,
  };
}
