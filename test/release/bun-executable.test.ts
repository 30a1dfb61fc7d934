import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackBun } from '../../deploy/release/bun-executable.ts';
import { BUN_VERSION, TARGETS, type Target } from '../../deploy/release/targets.ts';
import { PROJECT } from '../support/cli.ts';
import { tempFolder } from '../support/world.ts';

const [X64] = TARGETS as [Target];

test('a package that differs from the pinned one is refused, and not kept', async () => {
  const cache = join(PROJECT, 'node_modules/.cache/release');
  mkdirSync(cache, { recursive: true });
  // A unique name, so that other downloads are not touched.
  const tampered = { ...X64, name: `tampered-${process.pid}` };
  const tarball = join(cache, `${tampered.name}-${BUN_VERSION}.tgz`);
  writeFileSync(tarball, 'not what npm has');
  await expect(unpackBun(tampered, tempFolder())).rejects.toThrow(
    'is not the package that deploy/release/targets.ts names: sha512-',
  );
  expect(existsSync(tarball)).toBe(false);
});

test('a release contains the Bun of the tests', () => {
  expect(BUN_VERSION).toBe(Bun.version);
});
