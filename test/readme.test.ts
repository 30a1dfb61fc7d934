import { expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../cli/program.ts';
import { ROUTES } from '../server/app.ts';
import { ERROR_STATUSES } from '../server/request/refusals.ts';
import { VARIABLES } from '../shared/config/config.ts';
import { KEY_STATES } from '../shared/db/key-columns.ts';
import { eraserFor } from '../shared/erasure/erase-profile.ts';
import { DOCUMENTED_CODES, type ErrorCode, exitCodeOf, REFUSALS, refusalOf } from '../shared/errors.ts';
import { MAX_PROJECT_URL, TEXT_RULES } from '../shared/keys/fields.ts';
import { KEYS_PER_PROFILE } from '../shared/keys/key.ts';
import { RATE_LIMIT_BOUNDS } from '../shared/limits/rate-limit.ts';
import { MAX_GROUPS } from '../shared/limits/ring.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../shared/profiles/name.ts';
import { BOARD_SIZE } from '../shared/profiles/read/board-bounds.ts';
import { importProfiles } from '../shared/profiles/write/import.ts';
import { MAX_LINE_BYTES } from '../shared/profiles/write/line.ts';
import { type Results, tableRow } from './bench/results.ts';
import { onBox } from './support/actors.ts';
import { PROJECT } from './support/cli.ts';
import { readingOf } from './support/reading.ts';
import { testDeps } from './support/world.ts';

// What the README says in tables is compared with the code, both ways.

const README = readFileSync(join(PROJECT, 'README.md'), 'utf8');

/** The cells of the table whose first head is this. */
function table(head: string): string[][] {
  const lines = README.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${head} |`));
  if (start < 0) throw new Error(`The README has no table ${head}.`);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const plain = (cell: string | undefined) => (cell ?? '').replaceAll('`', '');

test('the variables and their defaults', () => {
  const rows = table('Variable').map(([name, value]) => [plain(name), plain(value)]);
  const wanted = Object.entries(VARIABLES).map(([name, value]) => [name, value]);
  const shown = rows.map(([name, value]) => [name, value === 'none' || value === 'from host and port' ? '' : value]);
  expect(shown).toEqual(wanted);
});

test('the commands', async () => {
  const leaves = (command: Command, path: string): string[] =>
    command.commands.length === 0
      ? [path]
      : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));
  expect(table('Command').map(([name]) => plain(name))).toEqual(leaves(await createProgram(), 'profilectl'));
});

test('the routes and the permission that each needs', () => {
  const shown = table('Request').map(([request, permission]) => [
    plain(request).replace('GET ', ''),
    plain(permission),
  ]);
  const wanted = ROUTES.map(({ path, access }) => [
    path.replace(/:(\w+)/g, '{$1}'),
    access === 'anyone' ? 'none' : access === 'any key' ? 'any' : access,
  ]);
  expect(shown.sort()).toEqual(wanted.sort());
});

test('the statuses of errors', () => {
  const shown = table('Status').map(([status]) => Number(status));
  expect(shown).toEqual([...new Set(ERROR_STATUSES)].sort());
});

test('the codes of errors, by status', () => {
  const shown = table('Status').map(([status, codes]) => [Number(status), plain(codes).split(', ')]);
  const wanted = ERROR_STATUSES.map((status) => [
    status,
    DOCUMENTED_CODES.filter((code) => refusalOf(code).status === status),
  ]);
  expect(shown).toEqual(wanted);
});

test('the exit codes', () => {
  const shown = table('Exit code').map(([code]) => Number(code));
  const codes = (Object.keys(REFUSALS) as ErrorCode[]).map(exitCodeOf);
  expect(shown).toEqual([...new Set([0, ...codes])].sort((a, b) => a - b));
});

test('the limits', () => {
  const { name, description, expectedUsage } = TEXT_RULES;
  const { maxPerKey, maxQuota, maxWindowSeconds } = RATE_LIMIT_BOUNDS;
  const shown = Object.fromEntries(table('What').map(([what, limit]) => [what, limit]));
  expect(shown).toEqual({
    'Keys of a profile that are pending or Active': String(KEYS_PER_PROFILE),
    'Name of a key': `${name.least}–${name.most} characters`,
    Description: `${description.least}–${description.most} characters`,
    'Project URL': `${MAX_PROJECT_URL} characters`,
    'Expected usage': `${expectedUsage.most} characters`,
    'Rate limits of a key': `1–${maxPerKey}, quota 1–${maxQuota}, window 1 s–${maxWindowSeconds / 86_400} d`,
    'Username or alias': `1–${NAME_MAX_CODE_POINTS} characters`,
    'Auth ID': `1–${AUTH_ID_MAX_BYTES} bytes`,
    'Line of an import': `${MAX_LINE_BYTES / 2 ** 20} MiB`,
    Leaderboard: `${BOARD_SIZE} profiles`,
  });
  expect(README).toContain(`at most ${MAX_GROUPS} time stamps`);
});

test('the results of the benchmark', () => {
  const { results } = JSON.parse(readFileSync(join(PROJECT, 'test/bench/results.json'), 'utf8')) as Results;
  expect(table('Case')).toEqual(results.map(tableRow));
});

test('the states of a key', () => {
  for (const state of KEY_STATES) expect(README).toContain(`\`${state}\``);
});

test('every file that it points to is there', () => {
  const paths = [...README.matchAll(/`((?:server|cli|shared|drizzle|test|deploy)\/[\w./-]*)`|\]\(([\w./-]+)\)/g)];
  expect(paths.length).toBeGreaterThan(5);
  for (const [, code, link] of paths)
    expect([code ?? link, existsSync(join(PROJECT, code ?? link ?? ''))]).toEqual([code ?? link, true]);
});

test('the answer that it shows is the one that the sample profiles give', async () => {
  const deps = testDeps();
  await importProfiles(deps, join(PROJECT, 'shared/sample/profiles.jsonl'), {
    merge: false,
    strict: true,
    erase: eraserFor(onBox('test')),
  });
  const shown = README.split('\n').find((line) => line.startsWith('{"id":7,"username":"Ada","displayName":"Ada L'));
  expect(shown).toBe(readingOf(deps).lookup.profile('username', 'Ada').text.body);
});

test('the line that it shows for an import is one', async () => {
  const deps = testDeps();
  const line = README.split('\n').find((text) => text.startsWith('{"id":7,"username":"Ada","aliases"')) ?? '';
  const result = await importProfiles(deps, [Buffer.from(line)], {
    merge: false,
    strict: true,
    erase: eraserFor(onBox('test')),
  });
  expect(result).toEqual({ imported: 1, deleted: 0, refused: [], dropped: {} });
});
