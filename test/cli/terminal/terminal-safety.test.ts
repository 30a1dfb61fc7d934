import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { commandEnvironment, profilectlWords } from '../../support/cli.ts';
import { issue } from '../../support/keys.ts';
import { importLines, jsonLines } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';
import { KEY, openTerminal, runCommand } from '../commands.ts';

// Text written by other people, and file names, are printed without the control and bidirectional characters that
// terminals obey.

const HOSTILE = 'a\u009b31m\u007f\u202eb\u2066\u200f\u061c\u0085';
const UNSAFE = /(?!\n)\p{Cc}|\p{Bidi_Control}/u;

/** A profile and an Active key with unsafe characters in their texts; the name of a key can only have bidirectional ones. */
async function world() {
  const deps = testDeps();
  const profile = {
    id: 7,
    username: 'ada',
    email: 'ada@example.org',
    displayName: HOSTILE,
    customize: { [HOSTILE]: HOSTILE },
    links: [{ id: 'l', name: HOSTILE, link: 'https://x', title: HOSTILE }],
  };
  await importLines(deps, [profile]);
  const { identifier } = await issue(deps, { profile: 'ada', name: 'x\u202ey' });
  return { profile, identifier, variables: { DATABASE_PATH: deps.config.databasePath, MAIL_URL: 'file:/none' } };
}

describe('JSON', () => {
  test('of profiles and keys has the original values, with control and bidirectional characters escaped', async () => {
    const { profile, identifier, variables } = await world();
    for (const [words, value] of [
      [['profiles', 'export'], profile],
      [['profiles', 'show', 'ada', '--json'], profile],
      [['keys', 'list', '--json'], { keys: [{ identifier, name: 'x\u202ey' }] }],
      [['keys', 'show', identifier, '--json'], { identifier, name: 'x\u202ey' }],
    ] as const) {
      const { code, stdout } = await runCommand(words, { variables });
      expect([words, code, UNSAFE.test(stdout)]).toEqual([words, 0, false]);
      expect(JSON.parse(stdout)).toMatchObject(value);
    }
  });

  test('is the same on a terminal', async () => {
    const { profile, variables } = await world();
    const terminal = openTerminal(['profiles', 'export'], variables);
    expect(await terminal.exited).toBe(0);
    await terminal.see('"links"');
    expect(terminal.raw().replaceAll('\r\n', '')).not.toMatch(UNSAFE);
    expect(JSON.parse(terminal.raw().replaceAll('\r\n', ''))).toMatchObject(profile);
  });
});

test('a prompt that offers a text to be changed omits them, also once Tab has written it', async () => {
  const { identifier, variables } = await world();
  const terminal = openTerminal(['keys', 'edit', identifier], variables);
  await terminal.answer('(xy)', '\t');
  await terminal.answer('xy', 'z\r');
  await terminal.see(`Rename key ${identifier}?`);
  terminal.type(KEY.ctrlC);
  await terminal.exited;
  expect(terminal.screen()).toContain('xyz');
  expect(terminal.raw()).not.toMatch(/\p{Bidi_Control}/u);
});

test('an error is one line, and omits control and bidirectional characters of a file name or argument that it quotes', async () => {
  const { variables } = await world();
  const hostile = `\u001b]0;title\u0007\u202e\u009b1m\nWarning: no`;
  const path = join(tempFolder(), hostile);
  const commands = [
    ['keys', 'list', '--db', path],
    ['profiles', 'import', path],
    ['profiles', 'show', hostile],
    ['db', 'backup', join(path, 'in')],
    ['keys', 'show', hostile],
    ['config', 'check', '--env-file', path],
    [`--${hostile}`],
    [hostile],
  ];
  for (const words of commands) {
    const { code, stdout, stderr } = await runCommand(words, { variables });
    expect([words, code > 0, stdout, stderr]).toEqual([words, true, '', expect.not.stringMatching(UNSAFE)]);
    expect(stderr.trimEnd().split('\n').length).toBe(1);
    const json = await runCommand([...words, '--json'], { variables });
    expect([words, json.stderr]).toEqual([words, expect.not.stringMatching(UNSAFE)]);
  }
  const backup = await runCommand(['db', 'backup', join(tempFolder(), '\u001b[31m\u202e.db')], { variables });
  expect(backup.code).toBe(0);
  expect(backup.stdout).not.toMatch(UNSAFE);
});

test('a command keeps its exit code if nobody reads its output', async () => {
  const { variables } = await world();
  const bad = jsonLines({ id: 9, username: 'grace' }, 'no json');
  const commands: [words: string[], stdin: string, code: number][] = [
    [['profiles', 'import', '-'], bad, 3],
    [['config', 'check'], '', 2],
    [['profiles', 'export'], '', 0],
  ];
  for (const [words, stdin, code] of commands) {
    // `true` ends long before anything is written.
    const child = Bun.spawn(['bash', '-c', '"$@" | true; echo $PIPESTATUS', 'bash', ...profilectlWords(words)], {
      env: commandEnvironment({ ...variables, ...(words[0] === 'config' && { PORT: 'x' }) }),
      stdin: new Blob([stdin]),
      stdout: 'pipe',
      stderr: 'ignore',
    });
    const printed = (await new Response(child.stdout).text()).trim();
    expect([words, printed]).toEqual([words, String(code)]);
  }
});
