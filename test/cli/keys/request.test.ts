import { beforeEach, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DESCRIPTION, keysListed } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testDeps } from '../../support/world.ts';
import { KEY, openTerminal } from '../commands.ts';

const deps = testDeps();
const variables = { DATABASE_PATH: deps.config.databasePath };
let nextId = 1;
let profile = '';

beforeEach(() => {
  profile = `user${nextId}`;
  insertProfile(deps.db, { id: nextId++ });
});

const FLAGS = ['--name', 'Bot', '--permission', 'api.lookup', '--project-url', 'https://example.org'];

/** `keys request` in a terminal, without flags for the description and the expected usage. */
const ask = (more: Record<string, string> = {}) =>
  openTerminal(['keys', 'request', '--profile', profile, ...FLAGS], { ...variables, ...more });

const requested = async () => keysListed(deps, { profile })[0];

/** An editor: a shell script that receives the file as `$1`. */
function editor(name: string, script: string): string {
  const file = join(deps.folder, name);
  writeFileSync(file, script);
  return `sh ${file}`;
}

describe('the editor of VISUAL or EDITOR', () => {
  test('opens for the description, and again with the same text if it is invalid', async () => {
    const script = `if ! test -s "$1"; then printf 'Größe 愛 🎉:\\n# this is kept\\n' > "$1"; exit; fi
printf 'editing> '; read line; printf '%s\\n' "$line in our chat and on the page of all our members, for their friends." >> "$1"`;
    const terminal = ask({ EDITOR: editor('edit', script), VISUAL: '' });
    await terminal.answer('Description', KEY.enter);
    await terminal.answer('more characters', KEY.enter);
    await terminal.answer('editing>', 'Badges\n');
    await terminal.answer('Expected usage', KEY.enter);
    await terminal.answer('Send this request?', KEY.enter);
    await terminal.see(/[0-9A-Za-z]{8} pending/);
    expect(await terminal.exited).toBe(0);
    const description =
      'Größe 愛 🎉:\n# this is kept\nBadges in our chat and on the page of all our members, for their friends.';
    expect(await requested()).toMatchObject({ description, expectedUsage: null });
  });

  test('that fails is named, and nothing is requested', async () => {
    const terminal = ask({ VISUAL: 'no-such-editor' });
    await terminal.answer('Description', KEY.enter);
    await terminal.see('no-such-editor');
    terminal.type(KEY.ctrlC);
    expect(await terminal.exited).toBe(130);
    expect(await requested()).toBeUndefined();
  });
});

describe('the whole request', () => {
  test('can be changed before it is sent', async () => {
    const terminal = ask();
    await terminal.answer('Description', `${DESCRIPTION}${KEY.enter}`);
    await terminal.answer('Expected usage', `Little.${KEY.enter}`);
    await terminal.answer('Send this request?', `${KEY.down}${KEY.down}${KEY.enter}`);
    await terminal.answer(/Name of the key .*Bot/, `\t 2${KEY.enter}`);
    await terminal.see(/Name of the key +Bot 2/);
    await terminal.answer('Send this request?', KEY.enter);
    expect(await terminal.exited).toBe(0);
    expect(await requested()).toMatchObject({ name: 'Bot 2', expectedUsage: 'Little.' });
  });

  test('is not sent after Cancel (exit code 130)', async () => {
    const terminal = ask();
    await terminal.answer('Description', `${DESCRIPTION}${KEY.enter}`);
    await terminal.answer('Expected usage', KEY.enter);
    await terminal.answer('Send this request?', `${KEY.down.repeat(7)}${KEY.enter}`);
    expect(await terminal.exited).toBe(130);
    expect(await requested()).toBeUndefined();
  });
});
