import { spawnSync } from 'node:child_process';

/**
 * The name of an operating system's user, by default the one that this process runs as; `uid 1000` without a name. Read
 * from `id`, since Bun's `userInfo` repeats the variable USER, which many services leave unset and anybody can set.
 */
export function userName(uid?: number): string {
  const words = uid === undefined ? ['-un'] : ['-un', '--', String(uid)];
  const named = spawnSync('/usr/bin/id', words, { encoding: 'utf8' }).stdout?.trim();
  return named || `uid ${uid ?? process.geteuid?.() ?? 'unknown'}`;
}
