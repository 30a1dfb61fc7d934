import { afterAll } from 'bun:test';
import { cleanEnvironment, PROJECT, profilectlWords } from './cli.ts';

/** `profilectl serve` as a process of its own. */
export type ServerProcess = {
  url: string;
  port: number;
  /** All that it has printed so far. */
  printed: () => string;
  /** Sends a signal and returns the exit code. */
  end: (signal?: NodeJS.Signals) => Promise<number>;
};

/** Starts `profilectl serve` on a port of the system's choice and waits until it answers. Killed when the file is done. */
export async function startServerProcess(variables: Record<string, string>): Promise<ServerProcess> {
  const port = freePort();
  const child = Bun.spawn(profilectlWords(['serve']), {
    env: cleanEnvironment({ PORT: String(port), ...variables }),
    cwd: PROJECT,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  afterAll(() => child.kill('SIGKILL'));
  let printed = '';
  const gather = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) printed += decoder.decode(chunk, { stream: true });
  };
  const gathered = Promise.all([gather(child.stdout), gather(child.stderr)]);
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    const ready = await fetch(`${url}/readyz`).catch(() => null);
    if (ready?.status === 200) break;
    if (child.exitCode !== null || tries > 500) throw new Error(`the server did not start: ${printed}`);
    await Bun.sleep(20);
  }
  const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    const code = await child.exited;
    await gathered;
    return code;
  };
  return { url, port, printed: () => printed, end };
}

function freePort(): number {
  const probe = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
  probe.stop(true);
  return probe.port;
}
