import { beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { candidatesFor } from '../../../cli/completion/candidates.ts';
import { createProgram } from '../../../cli/program.ts';
import { commandEnvironment, profilectlWords } from '../../support/cli.ts';
import { issue, request } from '../../support/keys.ts';
import { runCommand } from '../../support/machine/command.ts';
import { insertProfile } from '../../support/profiles.ts';
import { drawHalf, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';

const deps = testDeps();
insertProfile(deps.db, { id: 1, username: 'ada' });
let pending = '';
let active = '';
const bin = deps.folder;
const variables = { DATABASE_PATH: deps.config.databasePath };

beforeAll(async () => {
  pending = await request(deps, { profile: 'ada', name: 'Evil \u202ebot: $(touch pwned) `x`' });
  ({ identifier: active } = await issue(deps, { profile: 'ada' }));
  // A program called profilectl on the PATH, where a shell finds it.
  const words = profilectlWords([]).map((word) => `'${word}'`);
  writeFileSync(join(bin, 'profilectl'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  chmodSync(join(bin, 'profilectl'), 0o755);
});

const program = await createProgram();

/** The candidates for the last word, which `completion --candidates` prints. */
async function next(...words: string[]): Promise<string[]> {
  return (await candidatesFor(program, words)).map(({ value }) => value);
}

/** The same for a command that uses the database. */
const nextHere = (...words: string[]) => next('--db', deps.config.databasePath, ...words);

describe('candidates', () => {
  test('are all commands and subcommands', async () => {
    expect(await next('')).toEqual(program.commands.map((command) => command.name()));
    for (const command of program.commands.filter(({ commands }) => commands.length > 0)) {
      expect(await next(command.name(), '')).toEqual(command.commands.map((child) => child.name()));
    }
    expect(await next('profiles', 'alias', '')).toEqual(['add', 'remove']);
    expect(await next('profiles', 'un')).toEqual(['unban']);
  });

  test('are the command’s flags and the global flags, without hidden ones', async () => {
    const flags = await next('keys', 'approve', '--');
    expect(flags).toEqual([
      '--permission',
      '--rate-limit',
      '--expires',
      '--retire-old',
      '--wait',
      '--version',
      '--json',
      '--yes',
      '--db',
      '--host',
      '--env-file',
      '--help',
    ]);
    expect(await next('completion', '--ca')).toEqual([]);
  });

  test('are the values of a flag or argument with a fixed list', async () => {
    expect(await next('keys', 'list', '--state', '')).toHaveLength(7);
    expect(await next('keys', 'list', '--state', 'pending', 'A')).toEqual(['Active']);
    expect(await next('keys', 'request', '--permission', 'api.le')).toEqual(['api.leaderboard']);
    expect(await next('log', '--kind', 'bans', 'profile-')).toEqual([
      'profile-banned',
      'profile-unbanned',
      'profile-erased',
    ]);
    expect(await next('completion', '')).toEqual(['bash', 'zsh', 'fish']);
  });

  test('are the identifiers of keys in states that the command accepts', async () => {
    expect(await nextHere('keys', 'approve', '')).toEqual([pending]);
    expect(await nextHere('keys', 'revoke', '')).toEqual([active]);
    expect(await nextHere('keys', 'change', '')).toEqual([active]);
    expect(await nextHere('keys', 'request', '--successor-of', '')).toEqual([active]);
    expect((await nextHere('keys', 'show', '')).sort()).toEqual([active, pending].sort());
    expect(await nextHere('keys', 'show', pending.slice(0, 7))).toEqual([pending]);
    expect(await nextHere('keys', 'show', pending, '')).toEqual([]);
    expect(await next('--db', '/none.db', 'keys', 'show', '')).toEqual([]);
  });

  test('are printed one per line, with a description, from DATABASE_PATH or --db', async () => {
    const print = ['completion', '--candidates', '--'];
    const line = `${pending}\tpending, ada: Evil bot: $(touch pwned) \`x\`\n`;
    const printed = { code: 0, stdout: line, stderr: '' };
    expect(await runCommand([...print, 'keys', 'approve', ''], { variables })).toEqual(printed);
    expect(await runCommand([...print, '--db', variables.DATABASE_PATH, 'keys', 'approve', ''])).toEqual(printed);
  });

  test('of help are the commands that it explains', async () => {
    expect(await next('help', 'keys', 'ap')).toEqual(['approve']);
    expect(await next('help', 'profi')).toEqual(['profiles']);
  });

  test('are left to the shell for files, and empty for anything else', async () => {
    for (const words of [
      ['profiles', 'import', ''],
      ['db', 'restore', 'x'],
      ['--db', ''],
      ['serve', '--env-file', ''],
      ['keys', 'request', '--description-file', ''],
    ]) {
      expect(await next(...words)).toEqual([':files']);
    }
    for (const words of [
      ['profiles', 'show', ''],
      ['keys', 'edit', pending, '--name', ''],
      ['none', 'x', ''],
    ]) {
      expect(await next(...words)).toEqual([]);
    }
  });

  test('are refused for a missing or unknown shell (exit code 2)', async () => {
    const unclear = [['completion'], ['completion', 'ksh'], ['completion', 'bash', 'zsh']];
    for (const words of drawHalf(unclear, seededRandom('shells'))) {
      expect(await runCommand(words)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('bash, zsh or fish'),
      });
    }
  });
});

/** Types text with TABs into an interactive shell, and returns the words that it finally ran. */
async function typeInto(shell: string[], start: string, typed: string): Promise<string> {
  const child = Bun.spawn(shell, {
    env: commandEnvironment({
      ...variables,
      TERM: 'dumb',
      HOME: deps.folder,
      PATH: `${bin}:${process.env.PATH}`,
      INPUTRC: '/dev/null',
    }),
    cwd: deps.folder,
    terminal: {
      cols: 200,
      rows: 40,
      data: (_terminal, bytes) => {
        printed += new TextDecoder().decode(bytes);
        wake();
      },
    },
  });
  let printed = '';
  let wake = () => {};
  const see = async (text: RegExp): Promise<RegExpExecArray> => {
    const deadline = performance.now() + 10_000;
    for (;;) {
      const found = text.exec(Bun.stripANSI(printed));
      if (found !== null) return found;
      if (performance.now() > deadline) throw new Error(`never saw ${text} in:\n${printed}`);
      await Promise.race([new Promise<void>((resolve) => (wake = resolve)), Bun.sleep(200)]);
    }
  };
  child.terminal?.write(`${start}; printf 'rea%s\\n' dy\n`);
  await see(/^ready/m);
  child.terminal?.write(typed);
  const [, words = ''] = await see(/^ran <(.*)>/m);
  child.terminal?.write('exit\n');
  await child.exited;
  return words;
}

const RUN = 'profilectl_ran() { printf \'ran <%s>\\n\' "$*"; }';

describe('in real shells', () => {
  const has = (shell: string) => Bun.which(shell) !== null;

  test.skipIf(!has('bash'))('bash completes commands, flags and identifiers at TAB', async () => {
    const start = `PS1=; source <(profilectl completion bash); ${RUN}; complete -F _profilectl profilectl`;
    // Ctrl-A goes to the start of the line, to replace the program by a function that prints its arguments.
    const typed = 'profilectl key\tappr\t\t--perm\tapi.lo\t\u0001profilectl_ran \n';
    const words = await typeInto(['bash', '--norc', '--noprofile', '-i'], start, typed);
    expect(words).toBe(`profilectl keys approve ${pending} --permission api.lookup`);
  });

  test.skipIf(!has('zsh'))('zsh completes commands, flags and identifiers at TAB', async () => {
    const start = `PS1=; autoload -U compinit; compinit -u -D; eval "$(profilectl completion zsh)"; ${RUN}`;
    const typed = 'profilectl key\tappr\t\t--perm\tapi.lo\t\u0001profilectl_ran \n';
    const words = await typeInto(['zsh', '-f', '-i'], start, typed);
    expect(words).toBe(`profilectl keys approve ${pending} --permission api.lookup`);
  });

  test.skipIf(!has('fish'))('fish completes commands, flags and identifiers, each with its description', async () => {
    const at = async (line: string) => {
      const child = Bun.spawn(
        ['fish', '--no-config', '-c', `profilectl completion fish | source; complete -C "${line}"`],
        {
          env: commandEnvironment({ ...variables, HOME: deps.folder, PATH: `${bin}:${process.env.PATH}` }),
          cwd: deps.folder,
          stdout: 'pipe',
        },
      );
      return (await new Response(child.stdout).text()).trim().split('\n');
    };
    expect(await at('profilectl keys wi')).toEqual(['withdraw\tWithdraw a pending request.']);
    expect((await at('profilectl keys approve '))[0]).toStartWith(`${pending}\tpending, ada: Evil bot`);
    expect(await at('profilectl keys approve --perm')).toEqual([expect.stringMatching(/^--permission\t/)]);
    expect(await at('profilectl db restore prof')).toContain('profiles.db');
  });

  test('the names of keys are never executed', async () => {
    expect(await Bun.file(join(deps.folder, 'pwned')).exists()).toBe(false);
  });
});
