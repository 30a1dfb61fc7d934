import { spawnSync } from 'node:child_process';

/**
 * The name of a user of the operating system, by default of this process; `uid 1000` if there is none. It is read from `id`,
 * since Bun's `userInfo` returns the variable USER, which many services leave unset and anybody can set.
 */
export function userName(uid?: number): string {
  const words = uid === undefined ? ['-un'] : ['-un', '--', String(uid)];
  const named = spawnSync('/usr/bin/id', words, { encoding: 'utf8' }).stdout?.trim();
  return named || `uid ${uid ?? process.geteuid?.() ?? 'unknown'}`;
}
