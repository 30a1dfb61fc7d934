import { join } from 'node:path';

/** The checkout that the release is built from. */
export const PROJECT = join(import.meta.dir, '../..');

/** Runs a program in the checkout and returns its output. Throws if it fails; its errors go to this process's stderr. */
export async function run(...words: string[]): Promise<string> {
  return new TextDecoder().decode(await runForBytes(...words));
}

/** Does the same for a program that prints bytes. */
export async function runForBytes(...words: string[]): Promise<Uint8Array<ArrayBuffer>> {
  const child = Bun.spawn(words, { cwd: PROJECT, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
  const [printed, code] = await Promise.all([new Response(child.stdout).arrayBuffer(), child.exited]);
  if (code !== 0) throw new Error(`"${words.join(' ')}" ended with ${code}.`);
  return new Uint8Array(printed);
}
