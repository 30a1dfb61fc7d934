import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SEED } from './support/rounds.ts';
import { searchForSecrets } from './support/secret-search.ts';
import { type Counts, readReport, reportLines, totalsOf } from './support/source/test-report.ts';

// What `bun run test` does: installs, makes the types of a client, then type check, lint and format check, then every test.
// `bun run test:fast` (--fast) leaves out the slow ones; `bun run test:long` (--long) repeats what depends on chance four
// times as often (support/rounds.ts); `bun run test --timings` notes how long each file takes. The last line is "N passed,
// N failed" (and ", N skipped"): each check counts as one. What the tests leave behind, files and output, is kept until
// they are all done and then searched for secrets, codes and tokens (support/secret-search.ts).

const PROJECT = join(import.meta.dir, '..');

const MODE = process.argv[2];

/** Test files that run when all others are done: another process that writes much would delay what they measure. */
const ALONE = ['test/faults/files/power-cut.test.ts'];

/**
 * What `test:fast` leaves out: what starts a browser, commands, servers or threads, waits for mails or slow clients, tries
 * many orders of events, or takes more than a second of a processor.
 */
const SLOW = [
  'test/{binary,doors,journey,starting}.test.ts',
  'test/{cli,deploy,docs,faults,release}/**',
  'test/server/process/**',
  'test/server/manage/foreign-clients*.test.ts',
  'test/server/{damaged,freshness,docs/examples,http/big-answers}.test.ts',
  'test/server/portal/{restored,owner/owner-limits}.test.ts',
  'test/shared/sign-in/mail-limits.test.ts',
  'test/shared/db-files/{database-files,log-keeper,upgrade,vacuum}.test.ts',
  'test/shared/keys/{key-version,fields/inputs,life/approval-protocol,life/ban,life/expire}.test.ts',
  'test/shared/{operations,limits/{limits,lost-file,threads}}.test.ts',
  'test/shared/profiles/{edit/changes,import/as-of-model,import/import-order}.test.ts',
  'test/shared/{mail,outbox,upkeep/delivery}/**',
  '**/*browser.test.ts',
];

/** Tests wait for most of their time, for processes, mail servers and deadlines, so five of them share two cores. */
const PROCESSES = Math.ceil(2.5 * navigator.hardwareConcurrency);

/** How long each file once took (`test --timings`): the slowest start first, so that no core waits for them at the end. */
const TIMINGS = 'test/timings.json';

/** What the type check has found of each file, so that the next one looks at changed files and what depends on them. */
const TYPES = 'node_modules/.cache/types.tsbuildinfo';

/** What the caller has not said of chance is said here, so that all test processes share it. */
const CHANCE = { TEST_SEED: `${SEED}`, TEST_ROUNDS: process.env.TEST_ROUNDS ?? (MODE === '--long' ? '1' : '0.25') };

/** The options of `bun test` for one run of it, or two in turn. Each of its processes takes file after file. */
function chooseRuns(): string[][] {
  const leaveOut = (patterns: readonly string[]) => patterns.map((pattern) => `--path-ignore-patterns=${pattern}`);
  const together = [`--parallel=${PROCESSES}`, '--no-isolate', `--timings=${TIMINGS}`];
  if (MODE === '--timings') together.push('--update-timings');
  return MODE === '--fast' ? [[...together, ...leaveOut(SLOW)]] : [[...together, ...leaveOut(ALONE)], ALONE];
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

/** Runs Bun with these words; whether it ended well. */
async function run(words: readonly string[], env: NodeJS.ProcessEnv = testEnvironment()): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return (await child.exited) === 0;
}

/** Runs tests and counts them; whatever they leave behind and print is in `kept` afterwards. */
async function runTests(kept: string, shared: Record<string, string>, options: readonly string[]): Promise<Counts> {
  const temporary = join(kept, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const reportPath = join(kept, 'junit.xml');
  rmSync(reportPath, { force: true });
  const words = ['test', '--timeout=30000', '--reporter=junit', `--reporter-outfile=${reportPath}`, ...options];
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env: { ...testEnvironment(), TMPDIR: temporary, TEST_KEEP_FOLDER: kept, ...shared },
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
  const counts = existsSync(reportPath) ? readReport(reportPath) : { passed: 0, failed: 0, skipped: [], files: [] };
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

/** Starts one Chromium for all tests, where there is one, and ends it with them. */
async function withChromium(act: (variables: Record<string, string>) => Promise<void>): Promise<void> {
  // Loaded now, since it needs the packages.
  const { hasChromium, serveChromium } = await import('./support/portal/chromium.ts');
  // One that does not start makes the tests fail that need it, which start it themselves then.
  const browser = hasChromium ? await serveChromium().catch(() => null) : null;
  if (browser === null) return await act({});
  try {
    await act({ TEST_BROWSER: browser.wsEndpoint() });
  } finally {
    await browser.close();
  }
}

const phases: string[] = [];

/** Does something, and notes how long it took. */
async function time<T>(name: string, act: () => T | Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await act();
  phases.push(`${name} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return result;
}

/** Does all of it in a folder of its own; whether everything is as it should be. */
async function runAll(folder: string): Promise<boolean> {
  const kept = join(folder, 'kept');
  mkdirSync(kept, { mode: 0o700 });
  const checks: Record<string, boolean> = {};
  await time('types', async () => {
    checks['types of a client'] = await run(['test/support/client-types.ts']);
    checks['type check'] = await run(['x', 'tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', TYPES]);
  });
  checks['lint and format check'] = await time('lint', () => run(['x', 'biome', 'check', '--error-on-warnings', '.']));
  const counts: Counts = { passed: 0, failed: 0, skipped: [], files: [] };
  const runEach = async (shared: Record<string, string>) => {
    for (const options of chooseRuns()) {
      const { passed, failed, skipped, files } = await runTests(kept, shared, options);
      counts.passed += passed;
      counts.failed += failed;
      counts.skipped.push(...skipped);
      counts.files.push(...files);
    }
  };
  if (MODE === '--fast') await time('tests', () => runEach({}));
  else {
    const binary = join(folder, 'bin/profilectl');
    checks.binary = await time('binary', () => run(['cli/build.ts', binary]));
    // With the caller's whole environment, too.
    const bun = ['deploy/release/bun-executable.ts', 'linux-x64-baseline', 'linux-arm64'];
    checks['Bun for other machines'] = await time('Bun', () => run(bun, process.env));
    await time('tests', () => withChromium((browser) => runEach({ TEST_BINARY: binary, ...browser })));
  }
  checks['no secret, code or token is left behind'] = await time('search for secrets', () => nothingLeaked(kept));
  for (const [name, passed] of Object.entries(checks)) {
    say(`${passed ? 'passed' : 'FAILED'}: ${name}`);
    if (passed) counts.passed++;
    else counts.failed++;
  }
  for (const line of reportLines(counts)) say(line);
  say(phases.join(', '));
  say(totalsOf(counts));
  return counts.failed === 0 && (process.env.CI !== 'true' || counts.skipped.length === 0);
}

say(`TEST_SEED=${CHANCE.TEST_SEED} TEST_ROUNDS=${CHANCE.TEST_ROUNDS}`);
const folder = mkdtempSync(join(tmpdir(), 'pl-run-'));
// Everybody may start the binary: a test does so as another user.
chmodSync(folder, 0o755);
try {
  // With the caller's whole environment, which may name a registry or a proxy.
  const isInstalled = await time('install', () => run(['install', '--frozen-lockfile', '--silent'], process.env));
  if (!isInstalled) say('0 passed, 1 failed');
  process.exitCode = isInstalled && (await runAll(folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
