import { spawnSync } from 'node:child_process';
import { addToken } from '../../../shared/backends/backend-tokens.ts';
import { closeAccess, openAccess } from '../../../shared/sessions-file/open-access.ts';
import { onBox } from '../../support/actors.ts';
import { testConfig } from '../../support/world.ts';
import { CORE } from '../bench.ts';
import type { Target } from '../servers.ts';

/** Creates a token that allows a backend to send profiles to a server that uses this database. */
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
 * Sends a file of lines as a backend does, strictly or with `partial=1`, and waits for the response; retries while an
 * earlier request is in progress. Returns the number of imported lines, or null if `signal` aborted it.
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
    const { status, body } = await unpinImporter(server, answer).catch((error: unknown) => {
      if (signal?.aborted) return { status: 0, body: '' };
      throw error;
    });
    if (status === 0) return null;
    if (status === 200) return (JSON.parse(body) as { imported: number }).imported;
    if (status !== 429) throw new Error(`${PATH} returned ${status}: ${body.slice(0, 300)}`);
    await Bun.sleep(RETRY_MS);
  }
}

/**
 * The server is pinned to one core, and so is the process that it starts to import lines. In production, that process
 * may run on any core. So until the response arrives, this looks for the process and unpins it.
 */
async function unpinImporter<T>(server: Target, answer: Promise<T>): Promise<T> {
  let isDone = false;
  const done = answer.finally(() => {
    isDone = true;
  });
  const unpinned = new Set<string>();
  while (!isDone) {
    const children = spawnSync('pgrep', ['-P', String(server.pid)])
      .stdout.toString()
      .split('\n')
      .filter(Boolean);
    for (const pid of children) {
      if (!unpinned.has(pid)) spawnSync('taskset', ['-a', '-cp', CORE.any, pid]);
      unpinned.add(pid);
    }
    // Each request has one such process.
    if (unpinned.size > 0) break;
    await Promise.race([done.catch(() => undefined), Bun.sleep(RETRY_MS)]);
  }
  return done;
}
