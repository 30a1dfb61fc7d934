import { spawnSync } from 'node:child_process';

/**
 * The name of an operating system's user, of the one that this process runs as where none is given; `uid 1000` where it
 * has none. Asked of `id`, since Bun's `userInfo` repeats the variable USER, which is unset in many services and free to
 * say anything.
 */
export function userName(uid?: number): string {
  const words = uid === undefined ? ['-un'] : ['-un', '--', String(uid)];
  const named = spawnSync('/usr/bin/id', words, { encoding: 'utf8' }).stdout?.trim();
  return named || `uid ${uid ?? process.geteuid?.() ?? 'unknown'}`;
}
