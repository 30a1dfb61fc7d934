import { chmodSync, createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUILT_COMMIT, PROJECT } from './support/cli.ts';

// `bun run test`: installs the packages, checks types, documents and format, builds the binary, runs every test with it, and
// searches all that the tests wrote for secrets. `bun run test:long` (--long) repeats tests that depend on chance more often, and
// builds the packages of a release; `bun run test:fast` (--fast) runs only tests that need no binary, no process and no browser.

/** Runs before all others: what it measures is delayed by much writing. */
const ALONE = 'test/faults/files/power-cut.test.ts';

/** Takes as long as a tenth of all others. */
const ONLY_LONG = 'test/deploy/release.test.ts';

/** Tests mostly wait for processes, mail servers and deadlines, so five of them share two cores. */
const PROCESSES = Math.ceil(2.5 * navigator.hardwareConcurrency);

/** Processes of tests end soon: without the slowest compiler and frequent collection they take a sixth less processor time. */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_GC_TIMER_DISABLE: '1', MIMALLOC_PURGE_DELAY: '-1' };

/** Some of the tests that stay in one process. */
const FAST = ['test/shared', 'test/server/api', 'test/server/http', 'test/cli/sessions.test.ts'];
const SLOW = ['test/shared/files/**'];

const mode = process.argv[2];
/** A check counts as one, like a test. */
const counts = { pass: 0, fail: 0, skip: 0 };

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function note(name: string, hasPassed: boolean): boolean {
  say(`${hasPassed ? 'passed' : 'FAILED'}: ${name}`);
  counts[hasPassed ? 'pass' : 'fail']++;
  return hasPassed;
}

/** Runs Bun with these words as a check. */
async function check(name: string, words: readonly string[], env: Record<string, string> = {}): Promise<boolean> {
  const child = Bun.spawn([process.execPath, ...words], {
    cwd: PROJECT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return note(name, (await child.exited) === 0);
}

/** Runs tests, and adds the numbers of Bun's summary. Their files and output stay in `kept`. */
async function runTests(kept: string, env: Record<string, string>, words: string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, 'test', '--timeout=30000', ...words], {
    cwd: PROJECT,
    env: { ...process.env, ...ENGINE, TMPDIR: join(kept, 'tmp'), TEST_KEEP_FOLDER: kept, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  const file = createWriteStream(join(kept, 'output.txt'), { flags: 'a' });
  const copy = async (from: ReadableStream<Uint8Array>) => {
    for await (const chunk of from) {
      process.stdout.write(chunk);
      file.write(chunk);
      printed += Buffer.from(chunk).toString('latin1');
    }
  };
  await Promise.all([copy(child.stdout), copy(child.stderr)]);
  file.end();
  const hasPassed = (await child.exited) === 0;
  const numberOf = (word: string) => Number([...printed.matchAll(RegExp(`^ *(\\d+) ${word}$`, 'gm'))].at(-1)?.[1] ?? 0);
  const [pass, fail] = [numberOf('pass'), numberOf('fail')];
  counts.pass += pass;
  counts.skip += numberOf('skip');
  // An error outside any test, or no test at all, counts as a failure too.
  counts.fail += fail > 0 || (hasPassed && pass > 0) ? fail : 1;
}

/** The lines that grep prints. A folder's links are not followed: they may lead out of it. */
async function grep(folder: string, ...words: string[]): Promise<string[]> {
  const env = { ...process.env, LC_ALL: 'C' };
  const child = Bun.spawn(['grep', '-r', '-a', ...words, folder], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const text = await child.stdout.text();
  if ((await child.exited) > 1) throw new Error('grep failed.');
  return text.split('\n').filter((line) => line !== '');
}

/** Mails, also one that was being written when a test killed its process, and the notes: only they may contain secrets. */
const MAY_CONTAIN = ['*.eml', '.*.unfinished', 'secrets.txt'];

/** Sixteen characters from each eighth on, and the last sixteen: a part of 23 characters of the text has one of these. */
function piecesOf(text: string): string[] {
  const starts = Array.from({ length: Math.ceil((text.length - 16) / 8) }, (_, n) => n * 8);
  return [...starts.map((at) => text.slice(at, at + 16)), text.slice(-16)];
}

/** Whether no kept file has a code, or 23 consecutive characters of a token or of a secret's random part. */
async function nothingLeaked(kept: string): Promise<boolean> {
  const sources = MAY_CONTAIN.map((pattern) => `--include=${pattern}`);
  const find = async (pattern: string) => [...new Set(await grep(kept, '-h', '-o', '-E', ...sources, pattern))];
  const secrets = await find('pl[kp]_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}');
  const tokens = await find('^token [0-9A-Za-z_-]{43}$');
  // The codes of tests with predictable codes are not secret.
  const codes = (await find('^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\r?$')).filter((code) => !/^0000/.test(code));
  const random = [...secrets.map((text) => text.slice(13)), ...tokens.map((text) => text.slice('token '.length))];
  const patterns = [
    ...random.flatMap(piecesOf),
    ...codes.flatMap((code) => [code.trim(), code.trim().replace('-', '')]),
  ];
  writeFileSync(`${kept}.patterns`, patterns.join('\n'));
  const others = MAY_CONTAIN.map((pattern) => `--exclude=${pattern}`);
  // Each run of characters that could have one is searched once: most are in hundreds of databases.
  const runs = new Set(await grep(kept, '-h', '-o', '-E', ...others, '[0-9A-Za-z_-]{8,}'));
  writeFileSync(`${kept}.runs`, [...runs].join('\n'));
  const found = await grep(`${kept}.runs`, '-h', '-F', '-f', `${kept}.patterns`);
  for (const text of found) {
    const paths = await grep(kept, '-l', '-F', ...others, '-e', text);
    say(`a secret, code or token is in ${paths.map((path) => path.slice(kept.length + 1)).join(', ')}`);
  }
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
    await check('type check', ['x', 'tsc', '--singleThreaded', ...words], { GOGC: '800' });
    await check('documents', ['test/docs.ts', '--check']);
    await check('lint and format', ['x', 'biome', 'check', '--error-on-warnings', '.']);
  };
  const runAllTests = async () => {
    await check('binary', ['cli/build.ts', binary, BUILT_COMMIT]);
    const { SEED } = await import('./support/rounds.ts');
    const env = { TEST_BINARY: binary, TEST_SEED: `${SEED}`, ...(mode === '--long' && { TEST_LONG: '1' }) };
    await runTests(kept, env, [ALONE]);
    // Loaded only now, because it needs the packages. Tests that need a browser that did not start fail by themselves.
    const { hasChromium, serveChromium } = await import('./browser/chromium.ts');
    const browser = hasChromium ? await serveChromium().catch(() => null) : null;
    const others = [ALONE, ...(mode === '--long' ? [] : [ONLY_LONG])].map((path) => `--path-ignore-patterns=${path}`);
    const words = [`--parallel=${PROCESSES}`, '--no-isolate', ...others];
    await runTests(kept, { ...env, ...(browser && { TEST_BROWSER: browser.wsEndpoint() }) }, words);
    await browser?.close();
  };
  await Promise.all([checkTypes(), runAllTests()]);
  const isClean = await nothingLeaked(kept).catch((error) => say(`${error}`));
  note('no secret, code or token is left behind', isClean === true);
}

const folder = mkdtempSync(join(tmpdir(), 'pl-run-'));
// Everybody may start the binary, because a test does so as another user.
chmodSync(folder, 0o755);
try {
  const isReady = await check('install', ['install', '--frozen-lockfile', '--silent']);
  if (isReady && mode !== '--fast') await runAll(folder);
  else if (isReady) {
    mkdirSync(join(folder, 'tmp'));
    const words = [`--parallel=${PROCESSES}`, '--no-isolate', ...SLOW.map((path) => `--path-ignore-patterns=${path}`)];
    await runTests(folder, {}, [...words, ...FAST]);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { pass, fail, skip } = counts;
say(`${pass} passed, ${fail} failed${skip > 0 ? `, ${skip} skipped` : ''}`);
// Where nothing may be missing, a skipped test fails the run.
process.exitCode = fail === 0 && (process.env.CI !== 'true' || skip === 0) ? 0 : 1;
