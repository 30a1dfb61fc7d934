import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sourceCommit, versionText } from '../shared/version.ts';
import { print } from './terminal/output.ts';

// `bun run build` makes one self-contained executable of Bun, the server, the command line, migrations and sample profiles.
// `bun cli/build.ts [file] [commit] [target] [executable]` writes to another file, names the commit where there is no git,
// and builds for another machine, given Bun's name for that target and its Bun executable.

const [file = 'dist/profilectl', commit = sourceCommit(), target, executablePath] = process.argv.slice(2);

// Built next to its destination, then renamed: a running binary is not disturbed, and a failed build leaves the old one.
mkdirSync(dirname(file), { recursive: true });
const folder = mkdtempSync(join(dirname(file), 'build-'));
try {
  const built = join(folder, basename(file));
  await Bun.build({
    entrypoints: ['main.ts', '../server/process/workers/worker.ts', '../server/process/portal-thread.ts'].map((path) =>
      join(import.meta.dir, path),
    ),
    // All in one folder, so that each thread's file is next to the code that starts it, as in the source.
    naming: { entry: '[name].[ext]' },
    target: 'bun',
    format: 'esm',
    // Each command loads only its own chunks, as bytecode: it starts in a fifth of the time of one plain bundle.
    splitting: true,
    bytecode: true,
    // Elysia reads the source of hooks and handlers, and awaits those whose `return` seems to call something: unminified,
    // they stay synchronous. The source map is inline, so that stack traces in the log name our files and lines.
    minify: false,
    sourcemap: 'inline',
    define: { BUILD_COMMIT: JSON.stringify(commit) },
    compile: {
      outfile: built,
      ...(target && { target: target as Bun.Build.CompileTarget }),
      ...(executablePath && { executablePath }),
      // Otherwise files in the current folder could run code in this process, or change its configuration.
      autoloadBunfig: false,
      autoloadDotenv: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  });
  renameSync(built, file);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
print(`${file} is profilectl ${versionText(commit)}.`);
