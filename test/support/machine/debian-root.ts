import { chmodSync, cpSync, globSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Finished, NO_JIT } from '../cli.ts';
import { NO_MOUNT } from './small-disk.ts';

// A minimal Debian in a folder: the packages that every Debian has, with their files and dpkg entries, copied from
// this machine. Other installed packages are left out, so that an undeclared dependency is missing.

/** Why such a folder can't be made here, or null if it can. */
export const NO_DEBIAN_ROOT = Bun.which('dpkg-query') === null ? 'this machine has no dpkg' : NO_MOUNT;

/** A Debian in a folder. */
export type DebianRoot = {
  folder: string;
  /** The command that runs this program inside, with /proc mounted. */
  words: (...words: string[]) => string[];
  /** Runs a program inside to its end. */
  run: (...words: string[]) => Promise<Finished>;
};

type Installed = { name: string; needs: string[]; isBase: boolean };

/** Folders of packages that this root does not need. */
const UNREAD = /^\/usr\/(share\/(doc|man|locale|info|lintian|bug|zoneinfo)|lib\/[\w-]+\/gconv)(\/|$)/;

/** The folders that are links into /usr. */
const MERGED = /^\/(bin|sbin|lib|lib32|lib64|libx32)(?=\/|$)/;

/** Makes a Debian in a new folder, which the caller has to remove. */
export function createDebianRoot(folder: string): DebianRoot {
  // Other users inside read these files, and threads that open databases may have changed the umask.
  process.umask(0o022);
  mkdirSync(folder, { recursive: true });
  // It is the root folder of all users inside.
  chmodSync(folder, 0o755);
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(folder, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(folder, name));
  }
  for (const name of ['proc', 'dev', 'tmp']) mkdirSync(join(folder, name));
  chmodSync(join(folder, 'tmp'), 0o1777);
  const names = basePackages();
  copyFiles(names, folder);
  copyDatabase(names, folder);
  // As the script of base-passwd does.
  for (const name of ['passwd', 'group']) {
    cpSync(join(folder, `usr/share/base-passwd/${name}.master`), join(folder, 'etc', name));
  }
  // The script of libpam-runtime made these on this machine.
  for (const path of globSync('/etc/pam.d/common-*')) cpSync(path, join(folder, path));
  output('mknod', '-m', '666', join(folder, 'dev/null'), 'c', '1', '3');
  output('mknod', '-m', '666', join(folder, 'dev/urandom'), 'c', '1', '9');

  const words = (...more: string[]) => {
    const inside = 'mount -t proc proc "$1/proc" && folder=$1 && shift && exec chroot "$folder" "$@"';
    const variables = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive', ...NO_JIT };
    const environment = ['env', '-i', ...Object.entries(variables).map((each) => each.join('='))];
    return ['unshare', '--mount', 'sh', '-c', inside, 'sh', folder, ...environment, ...more];
  };
  const run = async (...more: string[]) => {
    const child = Bun.spawn(words(...more), { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, stdout, stderr };
  };
  return { folder, words, run };
}

function output(...words: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(words);
  if (!success) throw new Error(`"${words[0]}" failed: ${stderr}`);
  return stdout.toString();
}

/** All packages of this machine, by their names and by the names that they provide. */
function installedPackages(): Map<string, Installed> {
  const fields = ['Package', 'Architecture', 'Essential', 'Priority', 'Pre-Depends', 'Depends', 'Provides'];
  const format = `${fields.map((field) => `\${${field}}`).join('\t')}\n`;
  const architectures = ['all', output('dpkg', '--print-architecture').trim()];
  // "libc6 (>= 2.36), debconf (>= 0.5) | debconf-2.0" names libc6 and debconf.
  const namesIn = (text: string) => text.split(',').flatMap((part) => part.trim().replace(/[ (:|].*$/, '') || []);
  const installed = new Map<string, Installed>();
  for (const line of output('dpkg-query', '--show', `--showformat=${format}`).split('\n')) {
    const [name = '', architecture = '', essential, priority, before = '', depends = '', provides = ''] =
      line.split('\t');
    if (!architectures.includes(architecture)) continue;
    const needs = [...namesIn(before), ...namesIn(depends)];
    const found = { name, needs, isBase: essential === 'yes' || priority === 'required' };
    for (const known of [name, ...namesIn(provides)]) if (!installed.has(known)) installed.set(known, found);
  }
  return installed;
}

/** The names of these packages and of their dependencies. */
function withDependencies(installed: Map<string, Installed>, packages: Iterable<Installed>): string[] {
  const wanted = new Set(packages);
  // The set grows during the loop.
  for (const { needs } of wanted) for (const need of needs) addIfThere(wanted, installed.get(need));
  return [...wanted].map(({ name }) => name);
}

/** The essential and required packages of this machine and their dependencies. */
function basePackages(): string[] {
  const installed = installedPackages();
  return withDependencies(
    installed,
    [...installed.values()].filter(({ isBase }) => isBase),
  );
}

/** Copies the files of an installed package, and of its dependencies beyond the base, into a folder. */
export function copyPackage(name: string, folder: string): void {
  const installed = installedPackages();
  const found = installed.get(name);
  if (found === undefined) throw new Error(`the package ${name} is not installed on this machine`);
  const base = new Set(basePackages());
  const names = withDependencies(installed, [found]).filter((one) => !base.has(one));
  copyFiles(names, folder);
}

function addIfThere<T>(set: Set<T>, value: T | undefined): void {
  if (value !== undefined) set.add(value);
}

function copyFiles(names: readonly string[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  const paths = output('dpkg-query', '--listfiles', ...names)
    .split('\n')
    .filter((path) => path.startsWith('/') && path !== '/.' && !UNREAD.test(path))
    .map((path) => path.replace(MERGED, '/usr/$1').slice(1));
  const list = [...new Set(paths)].sort().join('\n');
  const options = '--no-recursion --ignore-failed-read --warning=none';
  const copy = `tar -C / -c ${options} -T - 2>/dev/null | tar -C "$1" -x -p`;
  const { success, stderr } = Bun.spawnSync(['sh', '-c', copy, 'sh', folder], { stdin: Buffer.from(list) });
  if (!success) throw new Error(`the files of packages can't be copied: ${stderr}`);
}

/** Copies dpkg's data about these packages: the names of their files, their scripts and their entries. */
function copyDatabase(names: readonly string[], folder: string): void {
  const database = join(folder, 'var/lib/dpkg');
  for (const name of ['info', 'updates', 'triggers', 'alternatives', 'parts']) {
    mkdirSync(join(database, name), { recursive: true });
  }
  writeFileSync(join(database, 'status'), output('dpkg-query', '--status', ...names));
  writeFileSync(join(database, 'available'), '');
  for (const file of globSync('/var/lib/dpkg/info/*')) {
    const name = basename(file).replace(/(:\w+)?\.\w+$/, '');
    if (name === 'format' || names.includes(name)) cpSync(file, join(database, 'info', basename(file)));
  }
}
