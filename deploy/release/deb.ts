import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import type { ReleaseFile } from './contents.ts';
import { PROJECT } from './processes.ts';
import { createStage, EXECUTABLE, type Packing, packStage, type Stage } from './stage.ts';

/** The maintainer of the package. Whoever publishes it must put their own name here. */
const MAINTAINER = 'Profile Lookup <maintainers@example.org>';

/** The oldest glibc that Bun's executables run with. */
const OLDEST_LIBC = '2.17';

const SETTINGS = 'etc/profile-lookup/settings';

/** Units and their scripts, except the feed's, which run on the machine with the platform's database. */
const UNITS = /^deploy\/(?:backup\/|import\/)?(profile-lookup[\w-]*\.(?:service|timer))$/;
const SCRIPTS = /^deploy\/(?:backup|import)\/([\w-]+\.sh)$/;

/**
 * Builds a Debian package of an executable and returns its bytes. `folder` is for temporary files, `files` are those of
 * {@link releaseFiles}.
 */
export async function makeDeb(
  folder: string,
  architecture: string,
  executable: string,
  files: readonly ReleaseFile[],
  packing: Packing,
): Promise<Uint8Array<ArrayBuffer>> {
  const data = createStage(join(folder, 'data'));
  const sums: string[] = [];
  let bytes = 0;
  const count = (path: string, content: string | Uint8Array) => {
    bytes += content.length;
    // dpkg itself keeps the checksums of configuration files.
    if (path !== SETTINGS) sums.push(`${Bun.MD5.hash(content, 'hex')}  ${path}\n`);
  };
  const add: Stage['add'] = (path, content, mode) => {
    data.add(path, content, mode);
    count(path, content);
  };
  data.link('usr/bin/profilectl', executable);
  count('usr/bin/profilectl', readFileSync(executable));
  for (const file of files) addInstalled(add, file);
  add('usr/share/doc/profile-lookup/copyright', readFileSync(join(PROJECT, 'deploy/release/deb/copyright')));

  const control = createStage(join(folder, 'control'));
  control.add('control', controlText(architecture, bytes));
  control.add('conffiles', `/${SETTINGS}\n`);
  control.add('md5sums', sums.sort().join(''));
  for (const script of ['postinst', 'prerm', 'postrm']) {
    control.add(script, readFileSync(join(PROJECT, 'deploy/release/deb', script)), EXECUTABLE);
  }
  return packArchive(
    [
      ['debian-binary', Buffer.from('2.0\n')],
      ['control.tar.gz', await packStage(control, '.', packing)],
      ['data.tar.gz', await packStage(data, '.', packing)],
    ],
    packing.seconds,
  );
}

/** Adds a file of the release wherever Debian expects files of its kind. */
function addInstalled(add: Stage['add'], { path, content, mode }: ReleaseFile): void {
  const [, unit] = UNITS.exec(path) ?? [];
  const [, script] = SCRIPTS.exec(path) ?? [];
  // Files installed by hand belong in /usr/local, those of a package in /usr.
  if (unit !== undefined) {
    add(`usr/lib/systemd/system/${unit}`, content.toString().replaceAll('/usr/local/', '/usr/'));
  }
  if (script !== undefined) add(`usr/lib/profile-lookup/${script}`, content, EXECUTABLE);
  if (path === 'deploy/settings.example') add(SETTINGS, content, 0o640);
  // Minimal installations exclude everything in /usr/share/doc.
  if (path.startsWith('deploy/')) add(`usr/share/profile-lookup/${path}`, content, mode);
  else add(`usr/share/doc/profile-lookup/${path}`, content, mode);
}

function controlText(architecture: string, bytes: number): string {
  const { version, description } = manifest;
  const fields = {
    Package: 'profile-lookup',
    Version: version,
    Architecture: architecture,
    Maintainer: MAINTAINER,
    'Installed-Size': Math.ceil(bytes / 1024),
    Depends: `libc6 (>= ${OLDEST_LIBC}), passwd`,
    Recommends: 'systemd (>= 252)',
    Suggests: 'caddy | nginx, restic',
    Section: 'web',
    Priority: 'optional',
    Description: `self-hosted API for public profiles\n ${description}\n No licence has been chosen for it yet.`,
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
}

/** Puts files into an `ar` archive, the format of Debian packages. */
function packArchive(files: [name: string, content: Uint8Array][], seconds: number): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [Buffer.from('!<arch>\n')];
  for (const [name, content] of files) {
    const cells: [string | number, number][] = [
      [name, 16],
      [seconds, 12],
      [0, 6],
      [0, 6],
      ['100644', 8],
      [content.length, 10],
    ];
    const head = cells.map(([value, width]) => String(value).padEnd(width)).join('');
    parts.push(Buffer.from(`${head}\`\n`), content);
    if (content.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  return new Uint8Array(Buffer.concat(parts));
}
