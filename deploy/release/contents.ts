import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, run } from './processes.ts';
import { EXECUTABLE } from './stage.ts';

/** A file that every archive of a release contains beside the program; `path` is relative to the archive's folder. */
export type ReleaseFile = { path: string; content: Buffer; mode?: number };

/** Copied unchanged from the checkout, except what requires a checkout: containers and the release scripts. */
const FROM_CHECKOUT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'deploy'];
const LEFT_OUT = /^deploy\/(compose|release\/)/;

/** The file name under which each shell finds its completion script. */
const SHELLS = { bash: 'profilectl.bash', zsh: '_profilectl', fish: 'profilectl.fish' };

/**
 * Everything in a release beside the program: documentation, deploy/, completions and man pages. `folder` is for temporary
 * files; `day` (YYYY-MM-DD) is the date in the man pages.
 */
export async function releaseFiles(folder: string, day: string): Promise<ReleaseFile[]> {
  return [...(await trackedFiles()), ...(await completions()), ...(await manPages(folder, day))];
}

/** Only files tracked by git, so that no local settings or mails get into a release. */
async function trackedFiles(): Promise<ReleaseFile[]> {
  const lines = (await run('git', 'ls-files', '-z', '--stage', ...FROM_CHECKOUT)).split('\0').filter(Boolean);
  return lines.flatMap((line) => {
    const [about = '', path = ''] = line.split('\t');
    if (LEFT_OUT.test(path)) return [];
    const mode = about.startsWith('100755') ? { mode: EXECUTABLE } : {};
    return [{ path, content: readFileSync(join(PROJECT, path)), ...mode }];
  });
}

async function completions(): Promise<ReleaseFile[]> {
  const files = Object.entries(SHELLS).map(async ([shell, name]) => {
    const script = await run(process.execPath, '--no-env-file', 'cli/main.ts', 'completion', shell);
    return { path: `completions/${name}`, content: Buffer.from(script) };
  });
  return await Promise.all(files);
}

async function manPages(folder: string, day: string): Promise<ReleaseFile[]> {
  const made = join(folder, 'man');
  mkdirSync(made);
  // In a separate process, whose output is not a terminal: some help texts are as wide as the terminal.
  await run(process.execPath, '--no-env-file', 'deploy/release/man.ts', made, day);
  return readdirSync(made)
    .sort()
    .map((name) => ({ path: `man/${name}`, content: readFileSync(join(made, name)) }));
}

/** Compresses a file at the highest level; the result depends only on its bytes. */
export function gzip(content: Buffer): Uint8Array {
  return Bun.gzipSync(new Uint8Array(content), { library: 'libdeflate', level: 12 });
}
