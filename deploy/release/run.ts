import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import { sourceCommit } from '../../shared/version.ts';
import { unpackBun } from './bun-executable.ts';
import { type ReleaseFile, releaseFiles } from './contents.ts';
import { makeDeb } from './deb.ts';
import { run } from './processes.ts';
import { makeSbom } from './sbom.ts';
import { createStage, type Packing, packStage } from './stage.ts';
import { BUN_VERSION, TARGETS, type Target } from './targets.ts';

// `bun run release [--target <name>]… [--out <folder>] [--uncompressed]` builds the files of a release (docs/release.md).

const { values } = parseArgs({
  options: {
    target: { type: 'string', multiple: true },
    out: { type: 'string', default: 'dist/release' },
    uncompressed: { type: 'boolean', default: false },
  },
});

/** Matches the names of release files, so that those of an earlier run can be removed. */
const OUR_NAMES = /^(profile-lookup[-_].*|SHA256SUMS)$/;

/** Builds the files of one target, and returns them by name. */
async function makeTarget(
  folder: string,
  target: Target,
  files: readonly ReleaseFile[],
  packing: Packing,
): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
  mkdirSync(folder);
  const bun = await unpackBun(target, folder);
  const file = join(folder, 'profilectl');
  await run(process.execPath, '--no-env-file', 'cli/build.ts', file, sourceCommit(), target.bunTarget, bun);

  const name = `${manifest.name}-${manifest.version}-${target.name}`;
  const stage = createStage(join(folder, 'archive'));
  stage.link(`${name}/profilectl`, file);
  for (const { path, content, mode } of files) stage.add(`${name}/${path}`, content, mode);
  const made = new Map([[`${name}.tar.gz`, await packStage(stage, name, packing)]]);

  const { debian } = target;
  if (debian !== null) {
    const deb = `${manifest.name}_${manifest.version}_${debian}.deb`;
    made.set(deb, await makeDeb(join(folder, 'debian'), debian, file, files, packing));
  }
  return made;
}

async function makeRelease(
  folder: string,
  targets: readonly Target[],
  out: string,
  isCompressed: boolean,
): Promise<void> {
  if (Bun.version !== BUN_VERSION) throw new Error(`A release requires Bun ${BUN_VERSION}; this is ${Bun.version}.`);
  const seconds = Number(await run('git', 'log', '-1', '--format=%ct'));
  const time = new Date(seconds * 1_000);
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out)) if (OUR_NAMES.test(name)) rmSync(join(out, name));

  const made = new Map<string, Uint8Array | string>();
  made.set(`${manifest.name}-${manifest.version}.cdx.json`, makeSbom(time));
  const files = await releaseFiles();
  for (const target of targets) {
    for (const [name, bytes] of await makeTarget(join(folder, target.name), target, files, { seconds, isCompressed }))
      made.set(name, bytes);
    rmSync(join(folder, target.name), { recursive: true });
  }
  const sums = [...made].map(([name, bytes]) => `${Bun.SHA256.hash(bytes, 'hex')}  ${name}\n`);
  made.set('SHA256SUMS', sums.sort((one, other) => (one.slice(64) < other.slice(64) ? -1 : 1)).join(''));
  for (const [name, bytes] of made) {
    await Bun.write(join(out, name), bytes);
    process.stdout.write(`${(bytes.length / 1e6).toFixed(1).padStart(6)} MB  ${join(out, name)}\n`);
  }
}

const unknown = values.target?.find((name) => !TARGETS.some((target) => target.name === name));
if (unknown !== undefined) {
  throw new Error(`Unknown target "${unknown}"; the targets are ${TARGETS.map(({ name }) => name).join(', ')}.`);
}
const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-release-'));
try {
  const targets = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true);
  await makeRelease(folder, targets, resolve(values.out), !values.uncompressed);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (sourceCommit().endsWith('-dirty')) {
  process.stderr.write('Do not publish these files: the checkout has uncommitted changes.\n');
}
