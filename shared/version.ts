import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };

/** Defined by `cli/build.ts`; undefined if the program runs from source. */
declare const BUILD_COMMIT: string | undefined;

/** `0.1.0`. */
export const VERSION: string = manifest.version;

/** Version and commit, such as `0.1.0 (abc1234)`; only the version if the commit is unknown. */
export function versionText(commit = typeof BUILD_COMMIT === 'undefined' ? sourceCommit() : BUILD_COMMIT): string {
  return commit === '' ? VERSION : `${VERSION} (${commit})`;
}

/** The commit of this source, with `-dirty` if files differ from it; empty outside a git checkout or without git. */
export function sourceCommit(): string {
  const project = join(import.meta.dir, '..');
  // Without this check, git would describe a repository that contains this folder.
  if (!existsSync(join(project, '.git'))) return '';
  const words = ['--no-optional-locks', '-C', project, 'describe', '--always', '--dirty', '--abbrev=7', '--exclude=*'];
  const { status, stdout } = spawnSync('git', words, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}
