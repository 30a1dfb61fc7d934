import { afterAll } from 'bun:test';
import { cleanEnvironment, LATE_JIT, PROJECT, profilectlWords } from '../cli.ts';
import { noteOutput } from '../secret-search.ts';

/** A running process of `profilectl serve`. */
export type ServerProcess = {
  url: string;
  port: number;
  pid: number;
  /** The output so far. */
  printed: () => string;
  /** Waits until the output matches, and returns the match. Fails after a time limit, with the output. */
  see: (text: RegExp) => Promise<RegExpExecArray>;
  signal: (name: NodeJS.Signals) => void;
  /** Sends a signal and returns the exit code. */
  end: (signal?: NodeJS.Signals) => Promise<number>;
};

/** Options: another command, environment or folder, another line that contains the URL, a longer time limit. */
export type ServerProcessOptions = {
  words?: readonly string[];
  environment?: Record<string, string>;
  cwd?: string;
  listening?: RegExp;
  patienceMs?: number;
};

const TIME_LIMIT_MS = 20_000;

/** Starts `profilectl serve` on any port and waits for its URL. Killed when the test file is done. */
export async function startServerProcess(
  variables: Record<string, string>,
  options: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const child = Bun.spawn([...(options.words ?? profilectlWords(['serve']))], {
    env: options.environment ?? cleanEnvironment({ PORT: '0', ...LATE_JIT, ...variables }),
    cwd: options.cwd ?? PROJECT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let printed = '';
  afterAll(() => {
    child.kill('SIGKILL');
    noteOutput(printed);
  });
  let wake = () => {};
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      printed += decoder.decode(chunk, { stream: true });
      wake();
    }
  };
  const gathered = Promise.all([gather(child.stdout), gather(child.stderr)]);
  const see = async (text: RegExp): Promise<RegExpExecArray> => {
    const deadline = performance.now() + (options.patienceMs ?? TIME_LIMIT_MS);
    for (;;) {
      const found = text.exec(printed);
      if (found !== null) return found;
      if (child.exitCode !== null) await gathered;
      else if (performance.now() < deadline) {
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), Bun.sleep(200)]);
        continue;
      }
      const late = text.exec(printed);
      if (late !== null) return late;
      throw new Error(`never printed ${text}, but: ${printed}`);
    }
  };
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const code = await child.exited;
    await gathered;
    return code;
  };
  const [, url = ''] = await see(options.listening ?? /Listening on (https?:\/\/[^"\s]*:\d+)\./);
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid,
    printed: () => printed,
    see,
    signal: (name) => void child.kill(name),
    end,
  };
}
