import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT_COMMIT, PROJECT } from './support/cli.ts';
import { SEED } from './support/rounds.ts';

// `bun run test`: installs the packages, checks types, lints, builds the binary, runs every test, and searches all that the
// tests wrote for secrets. `bun run test:long` (--long) repeats tests that depend on chance four times as often
// (support/rounds.ts). The last line is "N passed, N failed" (and ", N skipped"), in which each check counts as one.

/** Runs before all others: what it measures is delayed by much writing. */
const ALONE = 'test/faults/files/power-cut.test.ts';

/** Tests mostly wait for processes, mail servers and deadlines, so five of them share two cores. */
const PROCESSES = Math.ceil(2.5 * navigator.hardwareConcurrency);

/** Processes of tests end soon: without the slowest compiler and frequent collection they take a sixth less processor time. */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1', MIMALLOC_PURGE_DELAY: '-1' };

const CHANCE = { TEST_SEED: `${SEED}`, TEST_ROUNDS: process.env.TEST_ROUNDS ?? (process.argv[2] ? '1' : '0.25') };

/** The caller's environment without variables that configure the product, so that a test sees only those it sets. */
const KEPT = ['PATH', 'HOME', 'TMPDIR', 'CI', 'LANG', 'LC_ALL', 'TERM', 'NO_COLOR', 'USER', 'LOGNAME'];
const ENVIRONMENT = {
  ...Object.fromEntries(KEPT.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))),
  ...CHANCE,
  TZ: 'UTC',
};

const counts = { pass: 0, fail: 0, skip: 0 };

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function count(name: string, passed: boolean): boolean {
  say(`${passed ? 'passed' : 'FAILED'}: ${name}`);
  counts[passed ? 'pass' : 'fail']++;
  return passed;
}

/** Runs Bun with these words as a check. */
async function check(name: string, words: readonly string[], env: NodeJS.ProcessEnv = ENVIRONMENT): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...words], { cwd: PROJECT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  return count(name, (await child.exited) === 0);
}

/** Runs tests, and adds the numbers of Bun's summary. Their files and output are in `kept` afterwards. */
async function runTests(kept: string, variables: Record<string, string>, options: readonly string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout=30000', ...options], {
    cwd: PROJECT,
    env: { ...ENVIRONMENT, ...ENGINE, TMPDIR: join(kept, 'tmp'), TEST_KEEP_FOLDER: kept, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const copy = async (from: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of from) {
      process.stdout.write(chunk);
      appendFileSync(join(kept, 'output.txt'), chunk);
      printed += decoder.decode(chunk, { stream: true });
    }
  };
  await Promise.all([copy(child.stdout), copy(child.stderr)]);
  const hasPassed = (await child.exited) === 0;
  const summary = (word: string) => Number([...printed.matchAll(RegExp(`^ *(\\d+) ${word}$`, 'gm'))].at(-1)?.[1] ?? 0);
  const [failed, passed] = [summary('fail'), summary('pass')];
  counts.pass += passed;
  counts.skip += summary('skip');
  // An error outside any test, or no test at all, counts as a failure too.
  counts.fail += failed === 0 && !(hasPassed && passed > 0) ? 1 : failed;
}

/** The output of grep, also without a match. A folder's links are not followed: they may lead out of it. */
async function grep(folder: string, ...words: string[]): Promise<string[]> {
  const child = Bun.spawn(['grep', '-r', '-a', ...words, folder], {
    env: { ...ENVIRONMENT, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) > 1) throw new Error('grep failed.');
  return text.split('\n').filter((line) => line !== '');
}

/** Mails, also one that was being written when a test killed its process, and the notes: only they may contain secrets. */
const MAY_CONTAIN = ['*.eml', '.*.unfinished', 'secrets.txt'];

/** What support/secret-search.ts notes, and what is mailed. */
const WANTED = {
  secrets: 'pl[kpt]_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}',
  codes: '^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\r?$',
  tokens: '^token [0-9A-Za-z_-]{43}$',
};

/** Sixteen characters from each eighth on, and the last sixteen: a part of 23 characters of the text has one of these. */
function piecesOf(text: string): string[] {
  const starts = Array.from({ length: Math.ceil((text.length - 16) / 8) }, (_, n) => n * 8);
  return [...starts.map((at) => text.slice(at, at + 16)), text.slice(-16)];
}

/** Whether no kept file has a code, or 23 consecutive characters of a token or of a secret's random part. */
async function nothingLeaked(kept: string): Promise<boolean> {
  const sources = MAY_CONTAIN.map((pattern) => `--include=${pattern}`);
  const find = async (pattern: string) => [...new Set(await grep(kept, '-h', '-o', '-E', ...sources, pattern))];
  const secrets = await find(WANTED.secrets);
  // The codes of tests with predictable codes are not secret.
  const codes = (await find(WANTED.codes)).map((code) => code.trim()).filter((code) => !code.startsWith('0000'));
  const tokens = await find(WANTED.tokens);
  const random = [...secrets.map((text) => text.slice(13)), ...tokens.map((text) => text.slice('token '.length))];
  const patterns = `${kept}.patterns`;
  writeFileSync(
    patterns,
    [...random.flatMap(piecesOf), ...codes, ...codes.map((code) => code.replace('-', ''))].join('\n'),
  );
  const others = MAY_CONTAIN.map((pattern) => `--exclude=${pattern}`);
  const found = await grep(kept, '-l', '-F', '-f', patterns, ...others);
  for (const path of found) say(`a secret, code or token is in ${path.slice(kept.length + 1)}`);
  say(`searched for ${secrets.length} secrets, ${codes.length} codes and ${tokens.length} tokens`);
  return [secrets, codes, tokens].every((each) => each.length > 0) && found.length === 0;
}

async function runAll(folder: string): Promise<void> {
  const [kept, binary] = [join(folder, 'kept'), join(folder, 'bin/profilectl')];
  // Tests that run as another user go through it.
  mkdirSync(join(kept, 'tmp'), { recursive: true, mode: 0o711 });
  const checkTypes = async () => {
    await check('types of a client', ['test/support/client-types.ts']);
    const words = ['-p', '.', '--incremental', '--tsBuildInfoFile', 'node_modules/.cache/types.tsbuildinfo'];
    await check('type check', ['x', 'tsc', '--singleThreaded', ...words], { ...ENVIRONMENT, GOGC: '800' });
    await check('documents', ['test/docs.ts', '--check']);
  };
  const runAllTests = async () => {
    await check('binary', ['cli/build.ts', binary, BUILT_COMMIT]);
    await runTests(kept, { TEST_BINARY: binary }, [ALONE]);
    await check('lint and format check', ['x', 'biome', 'check', '--error-on-warnings', '.']);
    // Loaded only now, because it needs the packages. Tests that need a browser that did not start fail by themselves.
    const { hasChromium, serveChromium } = await import('./support/chromium.ts');
    const browser = hasChromium ? await serveChromium().catch(() => null) : null;
    const variables = { TEST_BINARY: binary, ...(browser && { TEST_BROWSER: browser.wsEndpoint() }) };
    const options = [`--parallel=${PROCESSES}`, '--no-isolate', `--path-ignore-patterns=${ALONE}`];
    await runTests(kept, variables, options).finally(() => browser?.close());
  };
  await Promise.all([checkTypes(), runAllTests()]);
  const isClean = await nothingLeaked(kept).catch((error) => say(`${error}`));
  count('no secret, code or token is left behind', isClean === true);
}

say(`TEST_SEED=${CHANCE.TEST_SEED} TEST_ROUNDS=${CHANCE.TEST_ROUNDS}`);
const folder = mkdtempSync(join(tmpdir(), 'pl-run-'));
// Everybody may start the binary, because a test does so as another user.
chmodSync(folder, 0o755);
try {
  // With the caller's whole environment, which may name a registry or a proxy.
  if (await check('install', ['install', '--frozen-lockfile', '--silent'], process.env)) await runAll(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { pass, fail, skip } = counts;
say(`${pass} passed, ${fail} failed${skip > 0 ? `, ${skip} skipped` : ''}`);
process.exitCode = fail === 0 && (process.env.CI !== 'true' || skip === 0) ? 0 : 1;
