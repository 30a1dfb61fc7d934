import { describe, expect, test } from 'bun:test';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../cli/program.ts';
import { withTables } from '../../shared/db/tables.ts';
import { openDatabase } from '../../shared/db-files/open.ts';
import { createDeps } from '../../shared/deps.ts';
import { keyHistory } from '../../shared/keys/view.ts';
import { commandEnvironment, profilectlWords } from '../support/cli.ts';
import { DESCRIPTION, request } from '../support/keys.ts';
import { runCommand } from '../support/machine/command.ts';
import { insertProfile } from '../support/profiles.ts';
import { tempFolder, testConfig, testDeps } from '../support/world.ts';

const folder = tempFolder();
const DATABASE_PATH = join(folder, 'profiles.db');
const variables = { DATABASE_PATH };
const db = withTables(openDatabase(DATABASE_PATH, 'serve'));
insertProfile(db);
const pending = await request(createDeps(db, testConfig(variables)));
db.$client.close();

describe('bad input gets one sentence and the exit code of docs/commands.md', () => {
  const broken = join(folder, 'broken.db');
  writeFileSync(broken, 'not a database at all, whatever its name says');
  const cases: [string, string[], number, RegExp][] = [
    ['an unknown command', ['--db', 'keys', 'nonsense'], 2, /^unknown command 'nonsense'$/m],
    ['an unknown command of a group', ['keys', 'aprove'], 2, /^unknown command 'aprove'$/m],
    ['a group without a command', ['keys'], 2, /^A command is missing; --help lists them\.$/m],
    ['an unknown flag', ['keys', 'list', '--sate', 'pending'], 2, /^unknown option '--sate'$/m],
    ['a retired flag', ['keys', 'list', '--host', 'https://example.org'], 2, /^unknown option '--host'$/m],
    ['a flag without its value', ['keys', 'edit', 'a', '--name'], 2, /^option '--name <name>' argument missing$/m],
    ['a missing argument', ['keys', 'show'], 2, /^missing required argument 'identifier'$/m],
    [
      'one argument too many',
      ['keys', 'show', 'a', 'hunter2'],
      2,
      /^Too many arguments; --help shows what the command takes\.$/m,
    ],
    ['an unknown state', ['keys', 'list', '--state', 'activ'], 2, /Active/],
    ['an unknown identifier', ['keys', 'show', '00000000'], 1, /no key/],
    ['a missing identifier without a terminal', ['keys', 'approve'], 2, /^The identifier is missing\.$/m],
    [
      'a missing flag without a terminal',
      ['keys', 'request', '--profile', 'x'],
      2,
      /^--name, --description and --permission are missing\./,
    ],
    ['a missing reason', ['keys', 'reject', '00000000'], 2, /^--reason is missing/],
    ['a bad rate limit', ['keys', 'approve', '00000000', '--rate-limit', '60/min'], 2, /quota.*window/],
    ['a bad expiry', ['keys', 'approve', '00000000', '--expires', 'tomorrow'], 2, /expiry/],
    ['an expiry in the past', ['keys', 'approve', '00000000', '--expires', '2020-01-01'], 2, /future/],
    ['an unknown profile', ['keys', 'list', '--profile', 'nobody'], 1, /no profile/],
    ['a missing database', ['--db', join(folder, 'none.db'), 'keys', 'list'], 1, /none\.db/],
    ['a file that is not a database', ['--db', broken, 'keys', 'list'], 1, /not a Profile Lookup database/],
    ['a folder as database', ['--db', folder, 'keys', 'list'], 2, /^--db must name a file, and .* is a folder\.$/m],
    ['an empty database path', ['--db', '', 'keys', 'list'], 2, /^--db must name a file/],
    ['a database in memory', ['--db', ':memory:', 'keys', 'list'], 2, /^--db must name a file/],
    ['an unknown permission', ['keys', 'approve', '0', '--permission', 'api.lokup'], 2, /only permissions/],
    ['a missing environment file', ['--env-file', join(folder, 'none.env'), 'keys', 'list'], 2, /none\.env/],
  ];
  for (const [what, words, code, sentence] of cases) {
    test(`${what} (exit code ${code})`, async () => {
      const run = await runCommand(words, { variables });
      expect(run.stderr).toMatch(sentence);
      expect(run.stderr.trim().split('\n')).toHaveLength(1);
      expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
      const json = await runCommand([...words, '--json'], { variables });
      expect(Object.keys(JSON.parse(json.stderr))).toEqual(['error']);
      expect(json.code).toBe(code);
    });
  }

  test('an invalid variable (exit code 2)', async () => {
    const run = await runCommand(['keys', 'list'], { variables: { ...variables, PORT: 'http' } });
    expect(run).toEqual({ code: 2, stdout: '', stderr: 'PORT must be a whole number from 0 to 65535.\n' });
  });

  test('an approval without a mail server names the variable to set (exit code 1)', async () => {
    const run = await runCommand(['keys', 'approve', pending], { variables });
    expect(run.code).toBe(1);
    expect(run.stderr).toContain('MAIL_URL');
  });

  test('a command that only reads does not create a missing database', () => {
    expect(existsSync(join(folder, 'none.db'))).toBe(false);
  });

  test('a locked database (exit code 75)', async () => {
    const db = openDatabase(DATABASE_PATH, 'serve');
    db.$client.run('BEGIN IMMEDIATE');
    const run = await runCommand(['keys', 'withdraw', pending], { variables });
    expect(run.stderr).toContain('locked');
    expect(run.code).toBe(75);
    db.$client.run('ROLLBACK');
    db.$client.close();
  }, 20_000);
});

test('--json counts only as an option, not as an argument or a value', async () => {
  const stderrOf = async (...words: string[]) => (await runCommand(words, { variables })).stderr;
  expect(await stderrOf('keys', 'show', '--', '--json')).toBe('There is no key with this identifier.\n');
  expect(await stderrOf('keys', 'list', '--db', '--json')).toStartWith('There is no database at --json.');
  expect(await stderrOf('keys', '--json', 'bogus')).toStartWith('{"error":');
  expect(await stderrOf('--json', 'keys', 'list', '--db')).toStartWith('{"error":');
});

test('a bug is reported in one sentence, with a stack trace if LOG_LEVEL=debug, and never with its message', async () => {
  const preload = join(folder, 'preload.ts');
  const fault = 'throw new TypeError("hunter2\\n    at ada@example.org", { cause: new Error("hunter2") })';
  writeFileSync(preload, `process.stdout.write = function planted() { ${fault}; };`);
  const run = (more: Record<string, string>, ...last: string[]) => {
    const env = commandEnvironment({ BUN_OPTIONS: `--preload=${preload}`, ...more });
    const child = Bun.spawnSync(profilectlWords([...last, '--version']), { env });
    expect([child.exitCode, child.stdout.toString()]).toEqual([1, '']);
    return child.stderr.toString();
  };
  const sentence = 'Something went wrong inside profilectl (TypeError); this is a bug.';
  expect(run({})).toBe(`${sentence} LOG_LEVEL=debug shows where it happened.\n`);
  const debug = run({ LOG_LEVEL: 'debug' });
  expect(debug).toStartWith(`${sentence}\n    at planted (${preload}:`);
  expect(debug).toContain('\ncaused by Error\n    at ');
  expect(debug).not.toMatch(/hunter2|ada@/);
  const { error, trace } = JSON.parse(run({ LOG_LEVEL: 'debug' }, '--json'));
  expect([error, trace[0]]).toEqual([sentence, expect.stringContaining('at planted')]);
});

test('flags that may be repeated take one value each, and never the identifier', async () => {
  const limits = ['--rate-limit', '60/1m', '--rate-limit', '5000/1d', '00000000'];
  const run = await runCommand(['keys', 'change', ...limits], { variables });
  expect(run).toEqual({ code: 1, stdout: '', stderr: 'There is no key with this identifier.\n' });
});

describe('help and version', () => {
  const allBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(allBelow)];
  const pathOf = (command: Command): string =>
    (command.parent === null ? '' : `${pathOf(command.parent)} `) + command.name();

  test('the help of every command fits 24 lines of 80 columns, and has examples', () => {
    const program = createProgram();
    for (const command of allBelow(program)) {
      let help = '';
      const writeOut = (text: string) => {
        help += text;
      };
      command.configureOutput({ writeOut, getOutHelpWidth: () => 80 }).outputHelp();
      const lines = help.trimEnd().split('\n');
      const path = pathOf(command);
      expect(help).toStartWith(`Usage: ${path} `);
      expect([path, lines.length <= 24, lines.filter((line) => line.length > 80)]).toEqual([path, true, []]);
      expect(help).toContain('--json');
      // Groups don't need examples.
      if (command === program || command.commands.length === 0) expect(help).toMatch(/Examples?:/);
    }
  });

  test.each([[[]], [['keys']], [['keys', 'approve']]])(
    'profilectl %p --help goes to stdout',
    async (words: string[]) => {
      const usage = expect.stringContaining(`Usage: ${['profilectl', ...words].join(' ')} `);
      expect(await runCommand([...words, '--help'])).toEqual({ code: 0, stdout: usage, stderr: '' });
    },
  );

  test.each(['--version', '-v'])('%s prints the version and, if git knows it, the commit', async (flag) => {
    const run = await runCommand([flag]);
    expect(run.stdout).toMatch(/^\d+\.\d+\.\d+( \([0-9a-f]{7,}(-dirty)?\))?\n$/);
    expect(run).toMatchObject({ code: 0, stderr: '' });
  });

  test('profilectl without arguments prints the help', async () => {
    expect(await runCommand([])).toEqual(await runCommand(['--help']));
  });
});

describe('the actor in the history of a command', () => {
  const recorded = async (variables: Record<string, string>) => {
    const deps = testDeps();
    insertProfile(deps.db, { username: 'ada' });
    const words = ['keys', 'request', '--db', deps.config.databasePath, '--json', '--profile', 'ada', '--name', 'Bot'];
    const more = ['--permission', 'api.lookup', '--description', DESCRIPTION];
    const { identifier } = JSON.parse((await runCommand([...words, ...more], { variables })).stdout);
    return keyHistory(deps, identifier)[0]?.by;
  };

  test('is the operating system’s user, whatever USER says', async () => {
    const user = Bun.spawnSync(['id', '-un']).stdout.toString().trim();
    expect(await recorded({ USER: 'somebody-else' })).toBe(`${user} (on the box)`);
  });

  test('is the user who called sudo', async () => {
    expect(await recorded({ SUDO_USER: 'grace' })).toBe('grace (on the box)');
  });
});

test('a full disk is reported if it receives stdout', () => {
  const words = ['sh', '-c', '"$@" > /dev/full', 'sh', ...profilectlWords(['keys', 'list'])];
  const { exitCode, stderr } = Bun.spawnSync(words, { env: commandEnvironment(variables), stderr: 'pipe' });
  expect([exitCode, stderr.toString()]).toEqual([1, "The output can't be written (ENOSPC).\n"]);
});
