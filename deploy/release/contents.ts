import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, run } from './processes.ts';
import { EXECUTABLE } from './stage.ts';

/** A file that every archive of a release has beside the program, by its path there. */
export type ReleaseFile = { path: string; content: Buffer; mode?: number };

/** What is copied from the checkout unchanged, except what needs a checkout: containers and the release itself. */
const FROM_CHECKOUT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs', 'deploy'];
const LEFT_OUT = /^deploy\/(compose|release\/)/;

/** The name of each shell's completion script, by which the shell finds it. */
const SHELLS = { bash: 'profilectl.bash', zsh: '_profilectl', fish: 'profilectl.fish' };

/**
 * Everything in a release beside the program: documents, samples, completions and man pages. `folder` is for
 * temporary files; `day` (YYYY-MM-DD) is the date in the man pages.
 */
export async function releaseFiles(folder: string, day: string): Promise<ReleaseFile[]> {
  return [...(await trackedFiles()), ...(await completions()), ...(await manPages(folder, day))];
}

/** Files that git tracks, so that nobody's own settings or mails beside them get into a release. */
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
  // In a process of its own, whose output is not a terminal: some help texts are as wide as the terminal.
  await run(process.execPath, '--no-env-file', 'deploy/release/man.ts', made, day);
  return readdirSync(made)
    .sort()
    .map((name) => ({ path: `man/${name}`, content: readFileSync(join(made, name)) }));
}

/** Compresses a file as small as possible; the result depends on its bytes alone. */
export function gzip(content: Buffer): Uint8Array {
  return Bun.gzipSync(new Uint8Array(content), { library: 'libdeflate', level: 12 });
}
