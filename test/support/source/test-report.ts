import { readFileSync } from 'node:fs';

// Reads the report of `bun test`, and makes the summary that test/run.ts prints at the end.

/** The number of passed and failed tests, the names of skipped ones, and the time of each file. */
export type Counts = { passed: number; failed: number; skipped: string[]; files: FileTime[] };

/** A test file and its time. */
export type FileTime = { path: string; seconds: number };

/** The number of slowest files in the summary. */
const SLOWEST = 10;

/** Reads a JUnit report. */
export function readReport(path: string): Counts {
  const text = readFileSync(path, 'utf8');
  const total = /<testsuites[^>]* tests="(\d+)"[^>]* failures="(\d+)"[^>]* skipped="(\d+)"/.exec(text);
  if (total === null) throw new Error('The test report has no totals.');
  const [tests, failed, skippedCount] = total.slice(1).map(Number) as [number, number, number];
  const skipped = [...text.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped/g)].map((match) => match[1] as string);
  if (skipped.length !== skippedCount)
    throw new Error('The test report does not name as many skipped tests as it counts.');
  // The suite of a file is named after its path.
  const files = [...text.matchAll(/<testsuite name="([^"]*)" file="\1"[^>]* time="([\d.]+)"/g)].map(
    ([, path = '', seconds]) => ({ path, seconds: Number(seconds) }),
  );
  return { passed: tests - failed - skippedCount, failed, skipped, files };
}

/** The names of skipped tests, and the slowest files. */
export function reportLines({ skipped, files }: Counts): string[] {
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST);
  return [
    ...skipped.map((name) => `skipped: ${name}`),
    ...slowest.map(({ path, seconds }) => `${seconds.toFixed(1).padStart(6)} s ${path}`),
  ];
}

/** The last line of a run, which .ci/run reads. */
export function totalsOf({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`;
}
