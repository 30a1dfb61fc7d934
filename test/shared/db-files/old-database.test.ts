import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setAside } from '../../../shared/db-files/old-database.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { makeDatabase } from '../../support/machine/upgrade.ts';
import { tempFolder } from '../../support/world.ts';

test('if a restore fails last of all, the old database or its log alone gets its name back, and no other file is left', () => {
  const fail = () => {
    throw new Error('the disk failed');
  };
  for (const [make, left] of [
    [(path: string) => makeDatabase(path), 'profiles.db'],
    [(path: string) => writeFileSync(`${path}-wal`, 'of a lost database'), 'profiles.db-wal'],
  ] as const) {
    const folder = tempFolder();
    const path = join(folder, 'profiles.db');
    make(path);
    const before = readFileSync(join(folder, left));
    expect(() => setAside(path, { read: () => 'found', prepare: (found) => found, replace: fail })).toThrow('the disk');
    expect(readdirSync(folder)).toEqual([left]);
    expect(readFileSync(join(folder, left)).subarray(100).equals(before.subarray(100))).toBe(true);
    if (left === 'profiles.db') openDatabase(path, 'use').$client.close();
  }
});
