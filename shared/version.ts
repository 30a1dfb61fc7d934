import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

/** Defined by `cli/build.ts`; undefined if the source is run. */
declare const BUILD_COMMIT: string | undefined;

/** The version alone: `0.1.0`. */
export const VERSION: string = manifest.version;

/** Version and commit, `0.1.0 (abc1234)`; the version alone if the commit is unknown. */
export function versionText(commit = typeof BUILD_COMMIT === 'undefined' ? sourceCommit() : BUILD_COMMIT): string {
  return commit === '' ? VERSION : `${VERSION} (${commit})`;
}

/** The commit of this source, with `-dirty` if files differ from it; empty outside a git checkout or without git. */
export function sourceCommit(): string {
  const project = join(import.meta.dir, '..');
  // Otherwise git would answer for a repository that contains ours.
  if (!existsSync(join(project, '.git'))) return '';
  const words = ['--no-optional-locks', '-C', project, 'describe', '--always', '--dirty', '--abbrev=7', '--exclude=*'];
  const { status, stdout } = spawnSync('git', words, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}
