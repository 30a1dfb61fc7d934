import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../../cli/program.ts';
import { changeLogins } from '../../../cli/remote/stored-logins.ts';
import { type Target, targetOf } from '../../../cli/remote/target.ts';
import { AppError, exitCodeOf } from '../../../shared/errors.ts';
import { runCommand } from '../../support/machine/command.ts';
import { tempFolder } from '../../support/world.ts';

// Which database or server a command uses, for every combination of options, variables, files and logins.

const A = 'https://a.example.org';
const B = 'https://b.example.org/prefix';
const DEFAULT = 'data/profiles.db';
const NAMED = '/srv/profiles.db';

/** Which options, variables and database at the default path there are, and the number of logins: none, A, or A and B. */
type Situation = {
  db: boolean;
  host: boolean;
  path: boolean;
  file: boolean;
  hostVariable: boolean;
  token: boolean;
  logins: number;
};

const BOTH = [false, true];

const SITUATIONS: Situation[] = BOTH.flatMap((db) =>
  BOTH.flatMap((host) =>
    BOTH.flatMap((path) =>
      BOTH.flatMap((file) =>
        BOTH.flatMap((hostVariable) =>
          BOTH.flatMap((token) => [0, 1, 2].map((logins) => ({ db, host, path, file, hostVariable, token, logins }))),
        ),
      ),
    ),
  ),
);

const folders = { with: tempFolder(), without: tempFolder() };
const settings = [tempFolder(), tempFolder(), tempFolder()];
const before = { folder: process.cwd(), environment: { ...process.env } };
const commands: Record<string, Command> = {};
let program: Command;
let asked: Promise<Target>;

beforeAll(async () => {
  mkdirSync(join(folders.with, 'data'));
  writeFileSync(join(folders.with, DEFAULT), '');
  const store = (at: number, change: Parameters<typeof changeLogins>[0]) =>
    changeLogins(change, join(settings[at] as string, 'profilectl/hosts.json'));
  await store(1, (logins) => logins.set(A, { token: 'stored-a', endsAt: null }));
  await store(2, (logins) => {
    logins.set(A, { token: 'stored-a', endsAt: null });
    logins.set(B, { token: 'stored-b', endsAt: '2027-01-01T00:00:00.000Z' });
  });
  program = await createProgram(['keys', 'profiles']);
  for (const [group, name] of [
    ['keys', 'list'],
    ['profiles', 'import'],
  ]) {
    const command = program.commands.find((one) => one.name() === group)?.commands.find((one) => one.name() === name);
    command?.action(() => {
      asked = targetOf(command);
    });
    commands[`${group} ${name}`] = command as Command;
  }
});

afterAll(() => {
  process.chdir(before.folder);
});

/** The target as text: `box`, `<server> <token>`, or exit code and sentence. */
async function targetIn(situation: Situation, words: readonly string[]): Promise<string> {
  const { db, host, path, file, hostVariable, token, logins } = situation;
  const variables = {
    XDG_CONFIG_HOME: settings[logins],
    ...(path && { DATABASE_PATH: NAMED }),
    ...(hostVariable && { PROFILECTL_HOST: `${B}/` }),
    ...(token && { PROFILECTL_TOKEN: 'from-variable' }),
  };
  process.chdir(file ? folders.with : folders.without);
  Object.assign(process.env, variables);
  try {
    const options = [...(db ? ['--db', 'x.db'] : []), ...(host ? ['--host', 'HTTPS://A.example.org:443/'] : [])];
    await program.parseAsync([...words, ...options], { from: 'user' });
    const target = await asked;
    return target.kind === 'box' ? 'box' : `${target.host.url} ${target.host.token}`;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${exitCodeOf(error.code)} ${error.message}`;
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
    Object.assign(process.env, before.environment);
  }
}

/** The target of a command that uses the server `url`: with the token for it, or the error that there is none. */
function asking(url: string, { token, logins }: Situation): string {
  if (token) return `${url} from-variable`;
  if (logins === 2 || (logins === 1 && url === A)) return `${url} stored-${url === A ? 'a' : 'b'}`;
  return `4 You are not logged in to ${url}; run "profilectl login ${url}".`;
}

/** The database that is found without `--db`, as named in sentences, or null. */
function databaseIn({ path, file }: Situation): string | null {
  if (path) return `the database ${NAMED} (DATABASE_PATH)`;
  return file ? `the database ${DEFAULT}` : null;
}

const STORED = ['', `the server ${A} (where you are logged in)`, `the servers ${A}, ${B} (where you are logged in)`];
const VARIABLE = `the server ${B} (PROFILECTL_HOST)`;
const CHOOSE_ONE = 'choose one with --db <path> or --host <url>.';

/** The expected target if an option or PROFILECTL_HOST decides it, otherwise null. */
function decided(situation: Situation): string | null {
  const { db, host, hostVariable } = situation;
  const database = databaseIn(situation);
  if (db && host) return '2 --db x.db and --host HTTPS://A.example.org:443/ are mutually exclusive; leave one out.';
  if (db) return 'box';
  if (host) return asking(A, situation);
  if (!hostVariable) return null;
  return database === null ? asking(B, situation) : `2 This could mean ${database} or ${VARIABLE}; ${CHOOSE_ONE}`;
}

/** Every situation in which the target of a command differs from `rule`. */
async function othersThan(words: readonly string[], rule: (situation: Situation) => string): Promise<object[]> {
  const wrong: object[] = [];
  for (const situation of SITUATIONS) {
    const [target, expected] = [await targetIn(situation, words), rule(situation)];
    if (target !== expected) wrong.push({ ...situation, target, expected });
  }
  return wrong;
}

test('key commands use the only database or server there is, and refuse if there are several or none', async () => {
  const undecided = (situation: Situation) => {
    const { logins, token } = situation;
    const database = databaseIn(situation);
    if (database !== null)
      return logins === 0 ? 'box' : `2 This could mean ${database} or ${STORED[logins]}; ${CHOOSE_ONE}`;
    if (logins === 1) return asking(A, situation);
    if (logins === 0 && token)
      return '2 PROFILECTL_TOKEN is set, but no server is named; name one with --host or PROFILECTL_HOST.';
    return logins === 0
      ? `2 There is no database at ${DEFAULT}, and you are not logged in to any server. Use --db or DATABASE_PATH to name a database, or "profilectl login https://…" to log in to a server.`
      : `2 You are logged in to several servers: ${A}, ${B}; name one with --host or PROFILECTL_HOST.`;
  };
  expect(SITUATIONS).toHaveLength(192);
  expect(await othersThan(['keys', 'list'], (situation) => decided(situation) ?? undecided(situation))).toEqual([]);
});

test('an import chooses between them in the same way, but uses a server only if one is named', async () => {
  const undecided = (situation: Situation) =>
    databaseIn(situation) !== null || situation.logins === 0
      ? 'box'
      : `2 An import does not use ${STORED[situation.logins]} by default; ${CHOOSE_ONE}`;
  const rule = (situation: Situation) => decided(situation) ?? undecided(situation);
  expect(await othersThan(['profiles', 'import', '-'], rule)).toEqual([]);
});

test('a command that works only on the server itself ignores logins, and refuses --host', async () => {
  const broken = tempFolder();
  mkdirSync(join(broken, 'profilectl/hosts.json'), { recursive: true });
  const variables = { XDG_CONFIG_HOME: broken, PROFILECTL_HOST: 'nonsense', PROFILECTL_TOKEN: 'ä' };
  const run = (...words: string[]) => runCommand(words, { variables, stdin: '' });
  const box = (name: string) => ({
    code: 1,
    stdout: '',
    stderr: `"profilectl ${name}" works only on the server itself; it does not support --host.\n`,
  });
  expect(await run('version')).toMatchObject({ code: 0, stderr: '' });
  expect((await run('db', 'check', '--db', '/nowhere.db')).stderr).toStartWith('There is no database at /nowhere.db.');
  expect(await run('db', 'check', '--host', A)).toEqual(box('db check'));
  expect(await run('profiles', 'list', '--host', A, '--db', 'x.db')).toEqual(box('profiles list'));
});
