import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, run } from './processes.ts';
import { EXECUTABLE } from './stage.ts';

/** A file that every archive of a release contains beside the program; `path` is relative to the archive's folder. */
export type ReleaseFile = { path: string; content: Buffer; mode?: number };

/** Copied unchanged from the checkout, except what requires a checkout: containers and the release scripts. */
const FROM_CHECKOUT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'deploy'];
const LEFT_OUT = /^deploy\/(compose|release\/)/;

/**
 * Everything in a release beside the program: documentation and deploy/. Only files tracked by git, so that no local settings
 * or mails get into a release.
 */
export async function releaseFiles(): Promise<ReleaseFile[]> {
  const lines = (await run('git', 'ls-files', '-z', '--stage', ...FROM_CHECKOUT)).split('\0').filter(Boolean);
  return lines.flatMap((line) => {
    const [about = '', path = ''] = line.split('\t');
    if (LEFT_OUT.test(path)) return [];
    const mode = about.startsWith('100755') ? { mode: EXECUTABLE } : {};
    return [{ path, content: readFileSync(join(PROJECT, path)), ...mode }];
  });
}
