import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sourceCommit, versionText } from '../shared/version.ts';
import { print } from './terminal/output.ts';

// `bun run build` bundles Bun, the server, the command line, migrations and sample profiles into one executable.
// `bun cli/build.ts [file] [commit] [target]`: the output file, the commit if git is not available, and Bun's name for another
// platform.

const [file = 'dist/profilectl', commit = sourceCommit(), target] = process.argv.slice(2);

// Built next to its destination, then renamed: a running binary is not disturbed, and a failed build keeps the old one.
mkdirSync(dirname(file), { recursive: true });
const folder = mkdtempSync(join(dirname(file), 'build-'));
try {
  const built = join(folder, basename(file));
  await Bun.build({
    entrypoints: [join(import.meta.dir, 'main.ts')],
    target: 'bun',
    format: 'esm',
    // Each command loads only its own chunks, as bytecode: it starts five times faster than from one plain bundle.
    splitting: true,
    bytecode: true,
    // Elysia reads the source of hooks and handlers, and awaits those whose `return` seems to call something. Unminified,
    // ours stay synchronous. The source map is inline, so that stack traces in the log name our files and lines.
    minify: false,
    sourcemap: 'inline',
    define: { BUILD_COMMIT: JSON.stringify(commit) },
    compile: {
      outfile: built,
      ...(target && { target: target as Bun.Build.CompileTarget }),
      // Otherwise files in the current folder could run code in this process or change its configuration.
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
print(`Built ${file} ${versionText(commit)}.`);
