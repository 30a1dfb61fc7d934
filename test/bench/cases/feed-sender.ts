import { spawnSync } from 'node:child_process';
import { addToken } from '../../../shared/backends/backend-tokens.ts';
import { closeAccess, openAccess } from '../../../shared/sessions-file/open-access.ts';
import { onBox } from '../../support/actors.ts';
import { testConfig } from '../../support/world.ts';
import { CORE } from '../bench.ts';
import type { Target } from '../servers.ts';

/** Makes a token with which a backend may send profiles to a server on this database. */
export function senderToken(databasePath: string): string {
  const access = openAccess(testConfig({ DATABASE_PATH: databasePath }));
  try {
    const wanted = { name: 'bench', rights: ['profiles'], excludesContactFields: false, eraseLimit: 0 } as const;
    return addToken(access, { ...wanted, rights: [...wanted.rights] }, onBox('bench')).token;
  } finally {
    closeAccess(access);
  }
}

const PATH = '/manage/v1/profiles';
const RETRY_MS = 20;

/**
 * Sends a file of lines as a backend does, all or nothing or with `partial=1`, and waits for the response; retries
 * while an earlier request is in progress. Returns the number of imported lines, or null if `signal` has ended it.
 * Throws if it fails.
 */
export async function sendFile(
  server: Target,
  token: string,
  file: string,
  { partial, signal }: { partial: boolean; signal?: AbortSignal },
): Promise<number | null> {
  for (;;) {
    const answer = fetch(`http://127.0.0.1:${server.port}${PATH}${partial ? '?partial=1' : ''}`, {
      method: 'POST',
      body: Bun.file(file),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/jsonl' },
      ...(signal && { signal }),
    }).then(async (response) => ({ status: response.status, body: await response.text() }));
    const { status, body } = await freeWriter(server, answer).catch((error: unknown) => {
      if (signal?.aborted) return { status: 0, body: '' };
      throw error;
    });
    if (status === 0) return null;
    if (status === 200) return (JSON.parse(body) as { imported: number }).imported;
    if (status !== 429) throw new Error(`${PATH} was answered with ${status}: ${body.slice(0, 300)}`);
    await Bun.sleep(RETRY_MS);
  }
}

/**
 * The server is bound to its core, and so is the process that it starts to import lines. Elsewhere that process runs
 * on any core, as an import does. So until the response arrives, this looks for the process and unbinds it.
 */
async function freeWriter<T>(server: Target, answer: Promise<T>): Promise<T> {
  let isOver = false;
  const over = answer.finally(() => {
    isOver = true;
  });
  const freed = new Set<string>();
  while (!isOver) {
    const children = spawnSync('pgrep', ['-P', String(server.pid)])
      .stdout.toString()
      .split('\n')
      .filter(Boolean);
    for (const pid of children) {
      if (!freed.has(pid)) spawnSync('taskset', ['-a', '-cp', CORE.any, pid]);
      freed.add(pid);
    }
    // Each request has one such process.
    if (freed.size > 0) break;
    await Promise.race([over.catch(() => undefined), Bun.sleep(RETRY_MS)]);
  }
  return over;
}
