import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../cli/program.ts';
import { keyHistory } from '../../shared/keys/view.ts';
import { commandEnvironment, profilectlWords } from '../support/cli.ts';
import { DESCRIPTION } from '../support/keys.ts';
import { insertProfile } from '../support/profiles.ts';
import { tempFolder, testDeps } from '../support/world.ts';
import { runCommand } from './commands.ts';

test('a bug is reported in one sentence, with a stack trace if LOG_LEVEL=debug, and never with its message', async () => {
  const preload = join(tempFolder(), 'preload.ts');
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

describe('help and version', () => {
  const allBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(allBelow)];
  const pathOf = (command: Command): string =>
    (command.parent === null ? '' : `${pathOf(command.parent)} `) + command.name();

  test('the help of every command fits 24 lines of 80 columns, and has examples', async () => {
    const program = await createProgram();
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
  const variables = { DATABASE_PATH: testDeps().config.databasePath };
  const { exitCode, stderr } = Bun.spawnSync(words, { env: commandEnvironment(variables), stderr: 'pipe' });
  expect([exitCode, stderr.toString()]).toEqual([1, "The output can't be written (ENOSPC).\n"]);
});
