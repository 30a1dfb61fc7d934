import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempFolder } from '../world.ts';
import { readReport, reportLines, totalsOf } from './test-report.ts';

test('the report lists skipped tests and the slowest files, and counts passed, failed and skipped tests', async () => {
  const folder = tempFolder();
  const head = "import { describe, expect, test } from 'bun:test';\n";
  const quick = "describe('a > b', () => { test('fails', () => expect(1).toBe(2)); });\n";
  const slow = "test('waits', () => Bun.sleep(300));\ntest.skip('is left out', () => {});\n";
  writeFileSync(join(folder, 'quick.test.ts'), head + quick);
  writeFileSync(join(folder, 'slow.test.ts'), head + slow);
  const report = join(folder, 'junit.xml');
  const words = ['test', '--reporter=junit', `--reporter-outfile=${report}`];
  const child = Bun.spawn([process.execPath, ...words], { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] });
  expect(await child.exited).toBe(1);
  const counts = readReport(report);
  expect([counts.passed, counts.failed, counts.skipped]).toEqual([1, 1, ['is left out']]);
  expect(reportLines(counts)).toEqual([
    'skipped: is left out',
    expect.stringMatching(/^ +0\.[3-9] s slow\.test\.ts$/),
    expect.stringMatching(/^ +0\.\d s quick\.test\.ts$/),
  ]);
  expect(totalsOf(counts)).toBe('1 passed, 1 failed, 1 skipped');
  expect(totalsOf({ ...counts, skipped: [] })).toBe('1 passed, 1 failed');
});
