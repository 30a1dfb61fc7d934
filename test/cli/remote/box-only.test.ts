import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../../cli/program.ts';
import { pathOf, scopeOf } from '../../../cli/remote/command-scope.ts';
import { changeLogins } from '../../../cli/remote/stored-logins.ts';
import { AppError, exitCodeOf } from '../../../shared/errors.ts';
import { runCommand } from '../../support/machine/command.ts';
import { tempFolder } from '../../support/world.ts';

// Commands that work only on the server itself, run on a machine without a database.

const A = 'https://a.example.org';

/** The commands that work without a database, or create one. */
const NEED_NONE = /^(db restore|config check|mail test|serve|healthcheck|demo|version|help)$/;

/** What a command needs in addition to its required arguments. */
const MORE: Record<string, string[]> = {
  'tokens add': ['--right', 'sign-ins'],
  'profiles show': ['ada'],
};

const before = { folder: process.cwd(), environment: { ...process.env } };
const settings = { none: tempFolder(), one: tempFolder() };
const folder = tempFolder();
let commands: Command[] = [];

beforeAll(async () => {
  await changeLogins(
    (logins) => logins.set(A, { token: 'stored-a', endsAt: null }),
    join(settings.one, 'profilectl/hosts.json'),
  );
  writeFileSync(join(folder, 'lines.jsonl'), '');
  const leaves = (command: Command): Command[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
  const program = await createProgram();
  commands = leaves(program).filter((one) => scopeOf(one) === 'box' && !NEED_NONE.test(pathOf(one)));
});

afterAll(() => {
  process.chdir(before.folder);
  Object.assign(process.env, before.environment);
});

/** The exit code and sentence of a command in a folder without a database. */
async function outcomeOf(command: Command, configHome: string): Promise<string> {
  const path = pathOf(command);
  const given = command.registeredArguments
    .filter(({ required }) => required)
    .map((argument) => ({ file: 'lines.jsonl', 'field=value': 'displayName=Ada' })[argument.name()] ?? 'ada');
  const program = await createProgram();
  process.chdir(folder);
  process.env.XDG_CONFIG_HOME = configHome;
  try {
    await program.parseAsync([...path.split(' '), ...given, ...(MORE[path] ?? [])], { from: 'user' });
    return 'done';
  } catch (error) {
    return error instanceof AppError ? `${exitCodeOf(error.code)} ${error.message}` : String(error);
  } finally {
    process.chdir(before.folder);
    delete process.env.XDG_CONFIG_HOME;
    Object.assign(process.env, before.environment);
  }
}

test('with a login but no database, every command that works only on the server says that the login is not used', async () => {
  expect(commands.length).toBeGreaterThan(15);
  for (const command of commands) {
    expect(await outcomeOf(command, settings.one)).toBe(
      `1 "profilectl ${pathOf(command)}" works only on the server itself, and there is no database at data/profiles.db. The login to ${A} is not used. Use --db or DATABASE_PATH to name another database.`,
    );
  }
});

test('without a login, such a command says only that the database is missing', async () => {
  const outcome = await outcomeOf(commands[0] as Command, settings.none);
  expect(outcome).toStartWith('1 There is no database at data/profiles.db. ');
});

test('the error names the missing database that --db specifies', async () => {
  const variables = { XDG_CONFIG_HOME: settings.one };
  const { code, stderr } = await runCommand(['status', '--db', join(folder, 'none.db')], { variables });
  expect(code).toBe(1);
  expect(stderr).toContain(`there is no database at ${join(folder, 'none.db')}. The login to ${A} is not used.`);
});
