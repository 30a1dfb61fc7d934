import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { readConfig, VARIABLES } from '../../shared/config/config.ts';
import { PROJECT } from '../support/cli.ts';

// Compares deploy/settings.example with the table of variables.

const TEXT = readFileSync(join(PROJECT, 'deploy/settings.example'), 'utf8');

type Entry = { comment: string; isSet: boolean; name: string; value: string };

/** The variables after the introduction, in the order of the file, each with the comment above it. */
const ENTRIES: Entry[] = TEXT.trim()
  .split('\n\n')
  .slice(1)
  .map((block) => {
    const lines = block.split('\n');
    const [, hash, name = '', value = ''] = /^(#?)([A-Z_]+)=(.*)$/.exec(lines.pop() ?? '') ?? [];
    const comment = lines.map((line) => line.replace(/^# /, '')).join(' ');
    return { comment, isSet: hash === '', name, value };
  });

test('the example has every variable once, in the order of the table', () => {
  expect(ENTRIES.map(({ name }) => name)).toEqual(Object.keys(VARIABLES));
});

test('each variable has its meaning as a comment, and a commented-out one shows its default if it has one', () => {
  for (const { name, comment, isSet, value } of ENTRIES) {
    const variable = VARIABLES[name];
    expect(comment.toLowerCase()).toStartWith(`${variable?.meaning.toLowerCase()}.`);
    if (!isSet && variable?.default) expect([name, value]).toEqual([name, variable.default]);
  }
});

test('the example is accepted as it is, and with every line active except file names and secrets', () => {
  const set = ENTRIES.filter(({ isSet }) => isSet);
  expect(parseEnv(TEXT)).toEqual(Object.fromEntries(set.map(({ name, value }) => [name, value])));
  expect(set.map(({ name }) => name)).toEqual(['DATABASE_PATH', 'TRUSTED_PROXIES']);
  expect(() => readConfig(parseEnv(TEXT))).not.toThrow();
  const others = ENTRIES.filter(({ name }) => !/_FILE$|^METRICS_TOKEN$|^PUBLIC_LOGO$/.test(name));
  const config = readConfig(Object.fromEntries(others.map(({ name, value }) => [name, value])));
  expect(config).toMatchObject({ publicUrl: 'https://api.example.org', contact: 'support@example.org' });
});
