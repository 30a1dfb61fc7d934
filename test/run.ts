import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEED } from './support/rounds.ts';
import { searchForSecrets } from './support/secret-search.ts';

// What `bun run test` does after installing: makes the types of a client, then type check, lint and format check, then
// every test. `bun run test:fast` (--fast) leaves out the slow ones; `bun run test:long` (--long) repeats what depends on
// chance four times as often (support/rounds.ts). The last line is "N passed, N failed" (and ", N skipped"):
// each check counts as one. What the tests leave behind, files and output, is kept until they are all done and then
// searched for secrets, codes and tokens (support/secret-search.ts).

const PROJECT = join(import.meta.dir, '..');

const MODE = process.argv[2];

/** Test files that run when all others are done: another process that writes much would delay what they measure. */
const ALONE = ['test/faults/power-cut.test.ts'];

/** What `test:fast` leaves out: what starts a browser, commands or whole servers, and what waits for mails or slow clients. */
const SLOW = [
  'test/{binary,journey,starting}.test.ts',
  'test/{cli,deploy,faults}/**',
  'test/server/process/**',
  'test/server/manage/feed*.test.ts',
  'test/server/request/big-answers.test.ts',
  'test/shared/{mail,notices}/**',
  '**/*browser.test.ts',
];

/** In `test:fast`, tests wait half of their time, so two processes share a core. */
const FAST_PROCESSES = 2 * navigator.hardwareConcurrency;

/** What the caller has not said of chance is said here, so that all test processes share it. */
const CHANCE = { TEST_SEED: `${SEED}`, TEST_ROUNDS: process.env.TEST_ROUNDS ?? (MODE === '--long' ? '1' : '0.25') };

/** The options of `bun test` for one run of it, or two in turn. Each of its processes takes file after file. */
function chooseRuns(isFast: boolean): string[][] {
  const together = (processes: string, leftOut: readonly string[]) => [
    processes,
    '--no-isolate',
    ...leftOut.map((pattern) => `--path-ignore-patterns=${pattern}`),
  ];
  return isFast ? [together(`--parallel=${FAST_PROCESSES}`, SLOW)] : [together('--parallel', ALONE), ALONE];
}

/** The caller's environment without anything that configures the product, so that a test sees only what it sets. */
function testEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'CI', 'LANG', 'LC_ALL', 'TERM', 'NO_COLOR', 'USER', 'LOGNAME'];
  const entries = kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
  return { ...Object.fromEntries(entries), TZ: 'UTC', ...CHANCE };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function run(words: readonly string[]): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env: testEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return (await child.exited) === 0;
}

/** Runs tests and counts them; whatever they leave behind and print is in `kept` afterwards. */
async function runTests(kept: string, options: readonly string[]): Promise<Counts> {
  const temporary = join(kept, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const report = join(kept, 'junit.xml');
  rmSync(report, { force: true });
  const words = ['test', '--timeout=30000', '--reporter=junit', `--reporter-outfile=${report}`, ...options];
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env: { ...testEnvironment(), TMPDIR: temporary, TEST_KEEP_FOLDER: kept },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const copy = async (from: ReadableStream<Uint8Array>, to: NodeJS.WriteStream) => {
    for await (const chunk of from) {
      to.write(chunk);
      appendFileSync(join(kept, 'output.txt'), chunk);
    }
  };
  await Promise.all([copy(child.stdout, process.stdout), copy(child.stderr, process.stderr)]);
  const hasPassed = (await child.exited) === 0;
  const counts = existsSync(report) ? readReport(report) : { passed: 0, failed: 0, skipped: [] };
  // A test process that fails with no failed test (a fault outside any test) is a failure all the same.
  if (!hasPassed && counts.failed === 0) counts.failed++;
  return counts;
}

/** Whether nothing that lets somebody in is in what was kept; says what was searched, and where something was found. */
function nothingLeaked(kept: string): boolean {
  const { secrets, codes, tokens, files, bytes, found } = searchForSecrets(kept);
  for (const path of found) say(`a secret, code or token stands in ${path.slice(kept.length + 1)}`);
  say(`searched for ${secrets} secrets, ${codes} codes and ${tokens} tokens in ${files} files, ${bytes} bytes`);
  return found.length === 0 && secrets > 0 && codes > 0 && tokens > 0;
}

type Counts = { passed: number; failed: number; skipped: string[] };

/** Reads the totals of a JUnit report, and the names of what was skipped. */
function readReport(path: string): Counts {
  const report = readFileSync(path, 'utf8');
  const total = /<testsuites[^>]* tests="(\d+)"[^>]* failures="(\d+)"[^>]* skipped="(\d+)"/.exec(report);
  if (total === null) throw new Error('The test report has no totals.');
  const [tests, failed, skippedCount] = total.slice(1).map(Number) as [number, number, number];
  const skipped = [...report.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped/g)].map((match) => match[1] as string);
  if (skipped.length !== skippedCount) throw new Error('The test report names other skipped tests than it counts.');
  return { passed: tests - failed - skippedCount, failed, skipped };
}

say(`TEST_SEED=${CHANCE.TEST_SEED} TEST_ROUNDS=${CHANCE.TEST_ROUNDS}`);
const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-run-'));
try {
  const checks: Record<string, boolean> = {
    'types of a client': await run(['test/support/client-types.ts']),
    'type check': await run(['x', 'tsc', '-p', '.']),
    'lint and format check': await run(['x', 'biome', 'check', '--error-on-warnings', '.']),
  };
  const counts: Counts = { passed: 0, failed: 0, skipped: [] };
  for (const options of chooseRuns(MODE === '--fast')) {
    const { passed, failed, skipped } = await runTests(folder, options);
    counts.passed += passed;
    counts.failed += failed;
    counts.skipped.push(...skipped);
  }
  checks['no secret, code or token is left behind'] = nothingLeaked(folder);
  for (const [name, passed] of Object.entries(checks)) {
    say(`${passed ? 'passed' : 'FAILED'}: ${name}`);
    if (passed) counts.passed++;
    else counts.failed++;
  }
  for (const name of counts.skipped) say(`skipped: ${name}`);
  const failed = counts.failed > 0 || (process.env.CI === 'true' && counts.skipped.length > 0);
  say(
    `${counts.passed} passed, ${counts.failed} failed${counts.skipped.length > 0 ? `, ${counts.skipped.length} skipped` : ''}`,
  );
  process.exitCode = failed ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
