import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PROJECT } from '../support/cli.ts';

// Makes the files from which the virtual machines start: Debian's kernel, an initial file system, and two disk
// images.

const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
const find = (name: string): string | null => Bun.which(name, { PATH });

/** The required programs, with their Debian packages. */
const PROGRAMS = {
  'qemu-system-x86_64': 'qemu-system-x86',
  busybox: 'busybox-static',
  drbdadm: 'drbd-utils',
  mke2fs: 'e2fsprogs',
  modprobe: 'kmod',
  cpio: 'cpio',
} as const;

/** Kernel modules for the disks, the network and DRBD, without their dependencies. */
const MODULES = ['virtio_pci', 'virtio_blk', 'virtio_net', 'ext4', 'drbd'];

const LIBRARIES = ['libc.so.6', 'libm.so.6', 'libpthread.so.0', 'libdl.so.2'].map(
  (name) => `/lib/x86_64-linux-gnu/${name}`,
);

/** The version of the newest kernel installed with its modules, including DRBD's, or null. */
function kernelVersion(): string | null {
  if (!existsSync('/lib/modules')) return null;
  const versions = readdirSync('/lib/modules').filter(
    (name) =>
      existsSync(`/boot/vmlinuz-${name}`) && existsSync(`/lib/modules/${name}/kernel/drivers/block/drbd/drbd.ko`),
  );
  return versions.sort().at(-1) ?? null;
}

/** The Debian packages that are missing on this machine. */
export function missingPackages(): string[] {
  const missing = Object.entries(PROGRAMS).flatMap(([program, name]) => (find(program) === null ? [name] : []));
  return kernelVersion() === null ? [...missing, 'linux-image-amd64'] : missing;
}

/** The paths of the images. */
export type Images = { kernel: string; initrd: string; program: string; volume: string };

/**
 * Makes all images below `folder`: a disk with the binary, and a volume of 64 MiB with `data` in its file system and
 * space for DRBD's metadata behind it. In the machine, port 2525 leads to `smtpPort` of the host.
 */
export async function makeImages(folder: string, data: string, smtpPort: number): Promise<Images> {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  await run([process.execPath, 'cli/build.ts', join(programs, 'profilectl'), 'standby']);
  const images = {
    kernel: `/boot/vmlinuz-${kernelVersion()}`,
    initrd: join(folder, 'initrd.gz'),
    program: join(folder, 'program.img'),
    volume: join(folder, 'volume.img'),
  };
  await makeDisk(images.program, 160, 155, programs);
  await makeDisk(images.volume, 64, 60, data);
  await makeInitialFiles(join(folder, 'root'), smtpPort);
  await run([
    'sh',
    '-c',
    `cd "$1" && find . | cpio -o -H newc --quiet | gzip -1 >"$2"`,
    'sh',
    join(folder, 'root'),
    images.initrd,
  ]);
  return images;
}

async function makeDisk(path: string, mebibytes: number, used: number, from: string): Promise<void> {
  await run(['truncate', '-s', `${mebibytes}M`, path]);
  await run([find('mke2fs') as string, '-q', '-F', '-t', 'ext4', '-d', from, path, `${used}M`]);
}

async function makeInitialFiles(root: string, smtpPort: number): Promise<void> {
  for (const name of [
    'bin',
    'dev',
    'proc',
    'sys',
    'tmp',
    'run',
    'sbin',
    'modules',
    'opt',
    'var/lib/drbd',
    'var/run/drbd',
    'var/lock',
    'etc/drbd.d',
  ]) {
    mkdirSync(join(root, name), { recursive: true });
  }
  const put = (from: string, to = from) => {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(from, join(root, to), { dereference: true });
  };
  put(find('busybox') as string, '/bin/busybox');
  for (const name of ['drbdadm', 'drbdsetup', 'drbdmeta']) put(find(name) as string, `/sbin/${name}`);
  // The kernel's DRBD is version 8.4, which has its own programs.
  for (const name of ['drbdadm-84', 'drbdsetup-84']) put(`/lib/drbd/${name}`);
  for (const path of [...LIBRARIES, '/lib64/ld-linux-x86-64.so.2']) put(path);
  copyFileSync(join(PROJECT, 'deploy/standby/profiles.res'), join(root, 'etc/drbd.d/profiles.res'));
  writeFileSync(join(root, 'etc/drbd.conf'), 'global { usage-count no; }\ninclude "drbd.d/*.res";\n');
  const lines = await Promise.all(
    MODULES.map((name) => run([find('modprobe') as string, '--show-depends', '-S', kernelVersion() as string, name])),
  );
  const paths = new Set([...lines.join('\n').matchAll(/^insmod (\S+)/gm)].map(([, path]) => path as string));
  for (const [index, path] of [...paths].entries()) {
    copyFileSync(path, join(root, 'modules', `${String(index).padStart(2, '0')}-${basename(path)}`));
  }
  writeFileSync(join(root, 'init'), initScript(smtpPort));
  chmodSync(join(root, 'init'), 0o755);
}

/** The first process of a machine. Connections to port 7000 get a shell. */
function initScript(smtpPort: number): string {
  return `#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/sbin
mount -t devtmpfs none /dev && mount -t proc none /proc && mount -t sysfs none /sys
for module in /modules/*; do insmod $module; done
hostname $(sed 's/.*name=\\([a-z]*\\).*/\\1/' /proc/cmdline)
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
ifconfig eth1 $(sed 's/.*link=\\([0-9.]*\\).*/\\1/' /proc/cmdline) netmask 255.255.255.0 up
mkdir -p /opt/programs /var/lib/profile-lookup
mount -t ext4 -o ro /dev/vda /opt/programs
export PATH=/bin:/sbin:/opt/programs
export DATABASE_PATH=/var/lib/profile-lookup/profiles.db DATABASE_MUST_EXIST=on HOST=0.0.0.0 PORT=3000
export TRUSTED_PROXIES=10.0.2.2 PUBLIC_URL=https://api.example.org LOG_LEVEL=warn
export MAIL_URL=smtp://127.0.0.1:2525 MAIL_FROM=keys@example.org
nc -ll -p 2525 -e /bin/nc 10.0.2.2 ${smtpPort} &
nc -ll -p 7000 -e /bin/sh &
echo BOOTED
while :; do sleep 1000; done
`;
}

/** Runs a program of the host to its end and returns its output. Throws if it fails. */
export async function run(words: readonly string[]): Promise<string> {
  const child = Bun.spawn([...words], {
    cwd: PROJECT,
    env: { ...process.env, PATH },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${words[0]} failed: ${stderr}`);
  return stdout;
}
