import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT, run } from './processes.ts';
import { BUN_VERSION, TARGETS, type Target } from './targets.ts';

// `bun deploy/release/bun-executable.ts <target>…` downloads Bun for these targets, so that releases can be built offline.

/** The cache of downloaded packages; `bun install` leaves this folder alone. */
const CACHE = join(PROJECT, 'node_modules/.cache/release');

/** Unpacks Bun's executable for a target into `folder` and returns its path. */
export async function unpackBun(target: Target, folder: string): Promise<string> {
  const tarball = await fetchBun(target);
  await run('tar', '--extract', '--gzip', '--file', tarball, '--directory', folder, 'package/bin/bun');
  return join(folder, 'package/bin/bun');
}

/**
 * Downloads the package of a target with npm, unless it is cached, and returns the path of its tarball. Throws if its hash is
 * not {@link Target.integrity}.
 */
export async function fetchBun(target: Target): Promise<string> {
  const tarball = join(CACHE, `${target.name}-${BUN_VERSION}.tgz`);
  if (!existsSync(tarball)) await download(target, tarball);
  const integrity = `sha512-${new Bun.CryptoHasher('sha512').update(readFileSync(tarball)).digest('base64')}`;
  if (integrity !== target.integrity) {
    rmSync(tarball);
    throw new Error(
      `${target.package}@${BUN_VERSION} is not the package that deploy/release/targets.ts names: ${integrity}.`,
    );
  }
  return tarball;
}

async function download(target: Target, tarball: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'download-'));
  try {
    await run('npm', 'pack', `${target.package}@${BUN_VERSION}`, '--silent', '--pack-destination', folder);
    const [name = ''] = readdirSync(folder);
    renameSync(join(folder, name), tarball);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  for (const target of TARGETS) if (process.argv.slice(2).includes(target.name)) await fetchBun(target);
}
