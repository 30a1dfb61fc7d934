import { afterAll } from 'bun:test';

/** A ready child process that answers each line with a line. */
export type LineChild = { send: (line: string) => void; next: () => Promise<string | undefined> };

/** Runs a file until the test file is done. The process prints a line when it is ready. */
export async function startLineChild(file: string, ...words: string[]): Promise<LineChild> {
  const child = Bun.spawn([process.execPath, file, ...words], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' });
  afterAll(() => child.kill());
  const lines = linesOf(child.stdout);
  const next = async () => (await lines.next()).value as string | undefined;
  await next();
  return {
    send: (line) => {
      child.stdin.write(`${line}\n`);
      child.stdin.flush();
    },
    next,
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    yield* lines;
  }
}
