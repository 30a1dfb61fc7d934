import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sourceCommit, versionText } from '../shared/version.ts';
import { print } from './terminal/output.ts';

// `bun run build`: one file that holds Bun, server, command line, migrations and sample profiles, and needs nothing
// beside itself. `bun cli/build.ts [file] [commit]` writes elsewhere, or where there is no git; with two more arguments, a
// target of Bun's and its executable, for other machines.

const [file = 'dist/profilectl', commit = sourceCommit(), target, executablePath] = process.argv.slice(2);

// Built beside its place and moved there: one that runs goes on running, and a failed build leaves the old one.
mkdirSync(dirname(file), { recursive: true });
const folder = mkdtempSync(join(dirname(file), 'build-'));
try {
  const built = join(folder, basename(file));
  await Bun.build({
    entrypoints: ['main.ts', '../server/process/workers/worker.ts', '../server/process/portal-thread.ts'].map((path) =>
      join(import.meta.dir, path),
    ),
    // All in one folder, so that each thread's file is found beside whatever starts it, as in the source.
    naming: { entry: '[name].[ext]' },
    target: 'bun',
    format: 'esm',
    // Each command loads only its own part, already parsed: starts in a fifth of the time of one plain bundle.
    splitting: true,
    bytecode: true,
    // Elysia reads the source of hooks and handlers, and awaits what seems to call something in its `return`; whitespace and
    // statements as written keep them synchronous. The map is inside, so that the log's traces name our files and lines.
    minify: false,
    sourcemap: 'inline',
    define: { BUILD_COMMIT: JSON.stringify(commit) },
    compile: {
      outfile: built,
      ...(target && { target: target as Bun.Build.CompileTarget }),
      ...(executablePath && { executablePath }),
      // Else a file in the folder that one happens to be in would run its code, or change the configuration.
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
