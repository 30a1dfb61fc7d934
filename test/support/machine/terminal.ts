import { afterAll } from 'bun:test';
import { commandEnvironment, PROJECT, profilectlWords } from '../cli.ts';
import { noteOutput } from '../secret-search.ts';

/** `profilectl` in a pseudo-terminal. */
export type Terminal = {
  /** Waits until the text has appeared since the last wait; fails after 10 s, with the screen's content. */
  see: (text: string | RegExp) => Promise<void>;
  type: (keys: string) => void;
  /** Waits until a question appears, and types. */
  answer: (question: string | RegExp, keys: string) => Promise<void>;
  /** Everything printed so far, without escape sequences. */
  screen: () => string;
  /** The same with escape sequences. */
  raw: () => string;
  exited: Promise<number>;
};

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

const TIME_LIMIT_MS = 10_000;

/** Wide enough for the longest question with a test run's paths, which would otherwise wrap differently each time. */
const WIDE = 300;

/** Starts `profilectl` in a terminal, with another command if given. */
export function openTerminal(
  words: readonly string[],
  variables: Record<string, string> = {},
  command: (words: readonly string[]) => string[] = profilectlWords,
  columns = WIDE,
): Terminal {
  let printed = '';
  let seenUpTo = 0;
  let wake = () => {};
  const decoder = new TextDecoder();
  const child = Bun.spawn(command(words), {
    env: commandEnvironment({ TERM: 'xterm', ...variables }),
    cwd: PROJECT,
    terminal: {
      cols: columns,
      rows: 40,
      data: (_terminal, bytes) => {
        printed += decoder.decode(bytes, { stream: true });
        wake();
      },
    },
  });
  const screen = () => Bun.stripANSI(printed);
  afterAll(() => noteOutput(screen()));
  const see = async (text: string | RegExp) => {
    const deadline = performance.now() + TIME_LIMIT_MS;
    for (;;) {
      const rest = screen().slice(seenUpTo);
      const at = typeof text === 'string' ? rest.indexOf(text) : rest.search(text);
      if (at >= 0) {
        seenUpTo += at;
        return;
      }
      if (performance.now() > deadline) throw new Error(`never saw ${text} in:\n${rest}`);
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), Bun.sleep(200)]);
    }
  };
  const type = (keys: string) => void child.terminal?.write(keys);
  const answer = async (question: string | RegExp, keys: string) => {
    await see(question);
    type(keys);
  };
  return { see, type, answer, screen, raw: () => printed, exited: child.exited };
}
