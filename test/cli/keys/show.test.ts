import { describe, expect, test } from 'bun:test';
import { columnsOf, wrapLine } from '../../../cli/terminal/output.ts';
import { moveAndNotify } from '../../../shared/keys/life.ts';
import { profilectlWords } from '../../support/cli.ts';
import { DESCRIPTION, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { onBox, testDeps } from '../../support/world.ts';
import { openTerminal, runCommand } from '../commands.ts';

const deps = testDeps();
insertProfile(deps.db);
const variables = { DATABASE_PATH: deps.config.databasePath };
const LONG = `${'word '.repeat(60)}end.\nhttps://example.org/${'x'.repeat(120)} and on.`;

describe('keys show', () => {
  test('wraps and indents long texts only on a terminal', async () => {
    const identifier = await request(deps, { name: 'Long', description: `${DESCRIPTION} ${LONG}` });
    const off = await runCommand(['keys', 'show', identifier], { variables });
    expect(off.stdout).toContain(` ${LONG.split('\n')[0]}\n`);
    const terminal = openTerminal(['keys', 'show', identifier], variables, profilectlWords, 100);
    await terminal.see('Last attempt');
    expect(await terminal.exited).toBe(0);
    const lines = terminal.screen().replaceAll('\r', '').split('\n');
    const from = lines.findIndex((line) => line.startsWith('Description'));
    const text = lines.slice(
      from,
      lines.findIndex((line) => line.startsWith('Project URL')),
    );
    expect(text.length).toBeGreaterThan(4);
    expect(text.slice(1).every((line) => /^ {16}\S/.test(line))).toBe(true);
    // Words longer than a line are not broken.
    expect(text.filter((line) => line.length > 100)).toHaveLength(1);
    expect(text.map((line) => line.slice(16)).join(' ')).toBe(`${DESCRIPTION} ${LONG}`.replace('\n', ' '));
  });

  test('never truncates the history on a terminal', async () => {
    const reason = `${'Please say more of it. '.repeat(12)}Thank you.`;
    const identifier = await request(deps, { name: 'Rejected' });
    await moveAndNotify(deps, 'reject', { identifier, reason, by: onBox('admin') });
    const terminal = openTerminal(['keys', 'show', identifier], variables);
    expect(await terminal.exited).toBe(0);
    expect(terminal.screen()).toContain(`admin (on the box)  rejected   pending → rejected  ${reason}`);
  });

  test('counts columns as a terminal does', () => {
    expect(wrapLine('日本 日本 日本', 9)).toEqual(['日本 日本', '日本']);
    expect(wrapLine('', 9)).toEqual(['']);
    expect(wrapLine('  indented text', 10)).toEqual(['  indented', 'text']);
    const stream = (isTTY: boolean, columns: number) => ({ isTTY, columns }) as NodeJS.WriteStream;
    expect([columnsOf(stream(true, 80)), columnsOf(stream(true, 0))]).toEqual([80, 100]);
    expect(columnsOf(stream(false, 80))).toBe(Number.POSITIVE_INFINITY);
  });
});
