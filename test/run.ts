import { appendFileSync, chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT_COMMIT } from './support/cli.ts';
import { SEED } from './support/rounds.ts';
import type { SearchResult, Share } from './support/secret-search.ts';
import { type Counts, readReport, reportLines, totalsOf } from './support/source/test-report.ts';

// `bun run test`: installs the packages, generates the types of an API client, type-checks, lints, checks the format, builds
// the binary, and runs every test. `bun run test:fast` (--fast) leaves out slow files; `bun run
// test:long` (--long) repeats tests that depend on chance four times as often (support/rounds.ts), and builds a release for
// all targets; `bun run test --timings` stores how long each file takes. The last line is "N passed, N failed" (and ", N
// skipped"), in which each check counts as one. Files and output of the tests are kept until the end, and then searched for
// secrets, codes and tokens (support/secret-search.ts).

const PROJECT = join(import.meta.dir, '..');

const MODE = process.argv[2];

/** Test files that run before all others, beside checks that write little: what they measure is delayed by much writing. */
const ALONE = ['test/faults/files/power-cut.test.ts'];

/** Tests mostly wait for processes, mail servers and deadlines, so five of them share two cores. */
const PROCESSES = Math.ceil(2.5 * navigator.hardwareConcurrency);

/** How many milliseconds each file took (`test --timings`): the slowest start first, so that no core waits at the end. */
const TIMINGS = 'test/timings.json';

/** `test:fast` leaves out the files that took longer than this in the run that stored the times, but never the conventions. */
const FAST_MS = 1_000;

/** The type checker's results for each file, so that the next check reads only changed files and their dependents. */
const TYPES = 'node_modules/.cache/types.tsbuildinfo';

/** The type checker lives shortly, so its heap may grow: collecting garbage takes a third of its processor time otherwise. */
const TYPE_CHECKER = { GOGC: '800' };

/** The seed and the number of rounds of random tests, the same in all test processes. */
const CHANCE = { TEST_SEED: `${SEED}`, TEST_ROUNDS: process.env.TEST_ROUNDS ?? (MODE === '--long' ? '1' : '0.25') };

/**
 * Test processes take a sixth less processor time without the slowest compiler, which pays only for code that runs for long,
 * and without Bun's timer that collects garbage whenever a process seems to rest, as one that waits for a server does. They
 * also keep freed memory, which they would soon request from the system again.
 */
const ENGINE = {
  BUN_JSC_useFTLJIT: '0',
  BUN_GC_TIMER_DISABLE: '1',
  MIMALLOC_PURGE_DELAY: '-1',
  MIMALLOC_PURGE_HOLES: '0',
};

/** The options of a run of `bun test` whose processes run file after file: all except those of {@link ALONE}, or the fast ones. */
function parallelOptions(): string[] {
  const options = [`--parallel=${PROCESSES}`, '--no-isolate', `--timings=${TIMINGS}`];
  if (MODE === '--timings') options.push('--update-timings');
  const leftOut = MODE === '--fast' ? slowFiles() : ALONE;
  return [...options, ...leftOut.map((path) => `--path-ignore-patterns=${path}`)];
}

function slowFiles(): string[] {
  const { files }: { files: Record<string, number> } = JSON.parse(readFileSync(join(PROJECT, TIMINGS), 'utf8'));
  const slow = Object.keys(files).filter((path) => (files[path] ?? 0) > FAST_MS);
  return slow.filter((path) => path !== 'test/conventions.test.ts');
}

/** The caller's environment without variables that configure the product, so that a test sees only those it sets. */
function testEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'CI', 'LANG', 'LC_ALL', 'TERM', 'NO_COLOR', 'USER', 'LOGNAME'];
  const entries = kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
  return { ...Object.fromEntries(entries), TZ: 'UTC', ...CHANCE };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Runs Bun with these words; returns whether it succeeded. */
async function run(words: readonly string[], env: NodeJS.ProcessEnv = testEnvironment()): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return (await child.exited) === 0;
}

/** Runs tests and counts them; their files and output are in `kept` afterwards. */
async function runTests(kept: string, shared: Record<string, string>, options: readonly string[]): Promise<Counts> {
  const temporary = join(kept, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const reportPath = join(kept, 'junit.xml');
  rmSync(reportPath, { force: true });
  const words = ['test', '--timeout=30000', '--reporter=junit', `--reporter-outfile=${reportPath}`, ...options];
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env: { ...testEnvironment(), ...ENGINE, TMPDIR: temporary, TEST_KEEP_FOLDER: kept, ...shared },
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
  // A test process that fails without a failed test (an error outside any test) counts as a failure too.
  if (!hasPassed && counts.failed === 0) counts.failed++;
  return counts;
}

/** Whether the kept files contain no secret, code or token. Prints what was searched, and where something was found. */
async function nothingLeaked(kept: string): Promise<boolean> {
  const of = navigator.hardwareConcurrency;
  const results = await Promise.all(Array.from({ length: of }, (_, at) => searchShare(kept, { at, of })));
  // Each thread collects all secrets, codes and tokens.
  const [{ secrets, codes, tokens } = { secrets: 0, codes: 0, tokens: 0 }] = results;
  const [files, bytes] = (['files', 'bytes'] as const).map((name) => results.reduce((sum, one) => sum + one[name], 0));
  const found = results.flatMap((each) => each.found);
  for (const path of found) say(`a secret, code or token is in ${path.slice(kept.length + 1)}`);
  say(`searched for ${secrets} secrets, ${codes} codes and ${tokens} tokens in ${files} files, ${bytes} bytes`);
  return found.length === 0 && secrets > 0 && codes > 0 && tokens > 0;
}

/** Searches a share of the kept files in a thread of its own. */
async function searchShare(folder: string, share: Share): Promise<SearchResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SearchResult>();
  const worker = new Worker(new URL('./support/source/search-worker.ts', import.meta.url));
  worker.onmessage = ({ data }: MessageEvent<SearchResult>) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage({ folder, share });
  return promise.finally(() => worker.terminate());
}

/** Starts one Chromium for all tests, if it is installed, and ends it with them. */
async function withChromium(act: (variables: Record<string, string>) => Promise<void>): Promise<void> {
  // Loaded only now, because it needs the packages.
  const { hasChromium, serveChromium } = await import('./support/portal/chromium.ts');
  // If it does not start, the tests that need it start it themselves and fail.
  const browser = hasChromium ? await serveChromium().catch(() => null) : null;
  if (browser === null) return await act({});
  try {
    await act({ TEST_BROWSER: browser.wsEndpoint() });
  } finally {
    await browser.close();
  }
}

const phases: string[] = [];

/** Runs a phase and records how long it took. */
async function time<T>(name: string, act: () => T | Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await act();
  phases.push(`${name} ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return result;
}

/** Runs everything with its own folder; returns whether everything passed. */
async function runAll(folder: string): Promise<boolean> {
  const kept = join(folder, 'kept');
  mkdirSync(kept, { mode: 0o700 });
  const checks: Record<string, boolean> = {};
  const binary = join(folder, 'bin/profilectl');
  const checkTypes = async () => {
    checks['types of a client'] = await run(['test/support/client-types.ts']);
    // Several threads would infer the same types each, and take half as much processor time again.
    const words = ['tsc', '-p', '.', '--singleThreaded', '--incremental', '--tsBuildInfoFile', TYPES];
    checks['type check'] = await run(['x', ...words], { ...testEnvironment(), ...TYPE_CHECKER });
  };
  const lint = async () => {
    checks['lint and format check'] = await run(['x', 'biome', 'check', '--error-on-warnings', '.']);
  };
  const build = async () => {
    checks.binary = await run(['cli/build.ts', binary, BUILT_COMMIT]);
  };
  const counts: Counts = { passed: 0, failed: 0, skipped: [], files: [] };
  const runCounted = async (options: readonly string[], browser: Record<string, string> = {}) => {
    const { passed, failed, skipped, files } = await runTests(kept, { TEST_BINARY: binary, ...browser }, options);
    counts.passed += passed;
    counts.failed += failed;
    counts.skipped.push(...skipped);
    counts.files.push(...files);
  };
  const test = async () => {
    await time('binary', build);
    if (MODE !== '--fast') await time('tests alone', () => runCounted(ALONE));
    await time('lint', lint);
    await time('tests', () =>
      MODE === '--fast'
        ? runCounted(parallelOptions())
        : withChromium((browser) => runCounted(parallelOptions(), browser)),
    );
  };
  // The type check uses one core, and ends soon after the tests have started.
  await Promise.all([time('types', checkTypes), test()]);
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
// Everybody may start the binary, because a test does so as another user.
chmodSync(folder, 0o755);
try {
  // With the caller's whole environment, which may name a registry or a proxy.
  const isInstalled = await time('install', () => run(['install', '--frozen-lockfile', '--silent'], process.env));
  if (!isInstalled) say('0 passed, 1 failed');
  process.exitCode = isInstalled && (await runAll(folder)) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
