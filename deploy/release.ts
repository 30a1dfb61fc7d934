import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { sourceCommit } from '../shared/version.ts';

// `bun run release [folder] [target]…` makes an archive and a Debian package for each target, and SHA256SUMS, by default all
// targets in dist/release. Bun downloads its own executable for another processor from npm.

/** The targets, and Debian's names for their processors. */
const TARGETS = { 'linux-x64': 'amd64', 'linux-arm64': 'arm64' } as const;
type Target = keyof typeof TARGETS;

/** Whoever publishes the package must put their own name here. */
const MAINTAINER = 'Profile Lookup <maintainers@example.org>';

const PROJECT = join(import.meta.dir, '..');

const COPYRIGHT = `Profile Lookup

No licence has been chosen for Profile Lookup.

The program contains Bun and the npm packages that bun.lock names, which have their own licences.
`;

const [out = 'dist/release', ...wanted] = process.argv.slice(2);
const targets = Object.keys(TARGETS) as Target[];
if (out.startsWith('-')) throw new Error(`Use: bun run release [folder] [${targets.join(' | ')}]…`);
const unknown = wanted.find((name) => !targets.some((target) => target === name));
if (unknown !== undefined) throw new Error(`Unknown target "${unknown}"; the targets are ${targets.join(', ')}.`);

/** Runs a program in the checkout and returns its output. Throws if it fails; its errors go to this process's stderr. */
function run(...words: string[]): string {
  const { exitCode, stdout } = Bun.spawnSync(words, { cwd: PROJECT, stdin: 'ignore', stderr: 'inherit' });
  if (exitCode !== 0) throw new Error(`"${words.join(' ')}" ended with ${exitCode}.`);
  return stdout.toString();
}

/** Writes a file with this mode, whatever the umask, and the folders around it. */
function add(file: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
}

const contentOf = (path: string) => readFileSync(join(PROJECT, path));

/** The documents, and deploy/ without what builds a release; only what git tracks, so no local settings or secrets. */
const FILES = run('git', 'ls-files', '-z', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs', 'deploy')
  .split('\0')
  .filter((path) => path !== '' && !/^deploy\/(?:release\.ts|deb\/|compose)/.test(path));

const modeOf = (path: string) => (path.endsWith('.sh') ? 0o755 : 0o644);

function makeArchive(folder: string, target: Target, program: string): string {
  const name = `${manifest.name}-${manifest.version}-${target}`;
  add(join(folder, name, 'profilectl'), readFileSync(program), 0o755);
  for (const path of FILES) add(join(folder, name, path), contentOf(path), modeOf(path));
  const file = join(resolve(out), `${name}.tar.gz`);
  run('tar', '-czf', file, '--owner=0', '--group=0', '--sort=name', '-C', folder, name);
  return file;
}

function makeDeb(folder: string, architecture: string, program: string): string {
  add(join(folder, 'usr/bin/profilectl'), readFileSync(program), 0o755);
  for (const path of FILES) {
    const name = path.replace('deploy/', '');
    if (name === path) add(join(folder, 'usr/share/doc/profile-lookup', path), contentOf(path));
    if (name === 'Caddyfile') add(join(folder, 'usr/share/profile-lookup', path), contentOf(path));
    // Files installed by hand belong in /usr/local, those of a package in /usr.
    const text = () => contentOf(path).toString().replaceAll('/usr/local/', '/usr/');
    if (/\.(service|timer)$/.test(name)) add(join(folder, 'usr/lib/systemd/system', name), text());
    if (name.endsWith('.sh')) add(join(folder, 'usr/lib/profile-lookup', name), text(), 0o755);
    if (name === 'settings.example') add(join(folder, 'etc/profile-lookup/settings'), text(), 0o640);
  }
  add(join(folder, 'usr/share/doc/profile-lookup/copyright'), COPYRIGHT);

  const { name, version, description } = manifest;
  const fields = {
    Package: name,
    Version: version,
    Architecture: architecture,
    Maintainer: MAINTAINER,
    'Installed-Size': run('du', '--summarize', '--block-size=1024', folder).split('\t', 1)[0],
    // The oldest C library that Bun runs with.
    Depends: 'libc6 (>= 2.17), passwd',
    Recommends: 'systemd (>= 252)',
    Suggests: 'caddy | nginx, restic',
    Section: 'web',
    Priority: 'optional',
    Description: `self-hosted API for public profiles\n ${description}`,
  };
  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\n`);
  add(join(folder, 'DEBIAN/control'), lines.join(''));
  add(join(folder, 'DEBIAN/conffiles'), '/etc/profile-lookup/settings\n');
  for (const script of ['postinst', 'prerm', 'postrm']) {
    add(join(folder, 'DEBIAN', script), contentOf(`deploy/deb/${script}`), 0o755);
  }
  const file = join(resolve(out), `${name}_${version}_${architecture}.deb`);
  run('dpkg-deb', '--build', '--root-owner-group', '-Zzstd', folder, file);
  return file;
}

process.umask(0o022);
mkdirSync(out, { recursive: true });
// Those of an earlier run.
for (const name of readdirSync(out)) if (/^(?:profile-lookup[-_].*|SHA256SUMS)$/.test(name)) rmSync(join(out, name));
const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-release-'));
try {
  const sums: string[] = [];
  for (const target of targets.filter((name) => wanted.length === 0 || wanted.includes(name))) {
    const program = join(folder, target, 'profilectl');
    run(process.execPath, '--no-env-file', 'cli/build.ts', program, sourceCommit(), `bun-${target}`);
    const made = [
      makeArchive(join(folder, target, 'archive'), target, program),
      makeDeb(join(folder, target, 'package'), TARGETS[target], program),
    ];
    for (const file of made) {
      sums.push(`${Bun.SHA256.hash(readFileSync(file), 'hex')}  ${file.slice(file.lastIndexOf('/') + 1)}\n`);
      process.stdout.write(`${file}\n`);
    }
    rmSync(join(folder, target), { recursive: true });
  }
  add(join(out, 'SHA256SUMS'), sums.join(''));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (sourceCommit().endsWith('-dirty')) {
  process.stderr.write('Do not publish these files: the checkout has uncommitted changes.\n');
}
