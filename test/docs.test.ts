import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../cli/program.ts';
import { ERROR_STATUSES } from '../server/http/errors.ts';
import { VARIABLES } from '../shared/config/variables.ts';
import { KEY_STATES } from '../shared/db/key-columns.ts';
import { effectsOnKeys } from '../shared/erasure/erase-profile.ts';
import { DOCUMENTED_CODES, type ErrorCode, exitCodeOf, refusalOf } from '../shared/errors.ts';
import { factsOf } from '../shared/keys/fields/input-facts.ts';
import { FIELDS } from '../shared/keys/fields/inputs.ts';
import { KEYS_PER_PROFILE } from '../shared/keys/key.ts';
import { MAX_PER_DAY } from '../shared/keys/life/daily-limit.ts';
import { RATE_LIMIT_BOUNDS } from '../shared/limits/rate-limit.ts';
import { MAX_GROUPS } from '../shared/limits/ring.ts';
import { parseMailUrl } from '../shared/mail/target.ts';
import { DECISIONS } from '../shared/operations.ts';
import { MAX_LINE_BYTES } from '../shared/profiles/edit/line.ts';
import { LINK_FIELDS, PROFILE_FIELDS } from '../shared/profiles/fields.ts';
import { importProfiles } from '../shared/profiles/import/import.ts';
import { BOARD_SIZE } from '../shared/profiles/leaderboard/board-bounds.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../shared/profiles/name.ts';
import { REFUSALS } from '../shared/refusals.ts';
import { type Results, tableRow } from './bench/results.ts';
import { onBox } from './support/actors.ts';
import { PROJECT } from './support/cli.ts';
import { readingOf } from './support/reading.ts';
import { ROUTES } from './support/requests.ts';
import { SOURCES } from './support/source/sources.ts';
import { testDeps } from './support/world.ts';

// Compares the documents with the code: tables in both directions, and all links, paths, commands and variables.

const read = (path: string) => readFileSync(join(PROJECT, path), 'utf8');

/** Every document by its path. */
const DOCUMENTS = new Map(
  ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']
    .concat([...new Bun.Glob('docs/*.md').scanSync(PROJECT)].sort())
    .map((path) => [path, read(path)]),
);

const README = read('README.md');

/** The cells of the table whose first column head is this, which exactly one document has. */
function table(head: string): string[][] {
  const holders = [...DOCUMENTS.values()].filter((text) => text.includes(`\n| ${head} |`));
  expect([head, holders.length]).toEqual([head, 1]);
  const lines = (holders[0] as string).split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${head} |`));
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A number as the documents write it: 1,000. */
const written = (count: number) => count.toLocaleString('en-US');

const plain = (cell: string | undefined) => (cell ?? '').replaceAll('`', '');

test('the documents list all variables with their defaults and meanings', () => {
  const rows = table('Variable').map((cells) => cells.map(plain));
  const wanted = Object.entries(VARIABLES).map(([name, variable]) => [name, variable.default, variable.meaning]);
  const shown = rows.map(([name, value, meaning = '']) => {
    return [name, value === 'from host and port' ? '' : value, meaning.replace(/; see \[.*\)$/, '')];
  });
  expect(shown).toEqual(wanted);
});

test('the documents list all commands', async () => {
  const leaves = (command: Command): string[] =>
    command.commands.flatMap((child) =>
      child.commands.length === 0 ? [child.name()] : leaves(child).map((words) => `${child.name()} ${words}`),
    );
  expect(table('Command').map(([name]) => plain(name))).toEqual(leaves(await createProgram()));
});

test('the documents that list admins’ decisions list all of them', () => {
  const listed = (path: string, list: RegExp) =>
    [...(list.exec(read(path))?.[0] ?? '').matchAll(/[a-z]+/g)].map(([word]) => word);
  for (const { name } of DECISIONS) {
    expect(listed('docs/developer-platform.md', /(?<=`operation` \()[^)]+/)).toContain(name);
    expect(listed('docs/manage.md', /(?<=An admin's token only reads\. )[^.]+/)).toContain(name);
    expect(listed('docs/remote.md', /(?<=An admin's token decides nothing\. )[^.]+/)).toContain(name);
  }
});

test('the documents list all routes with the permissions they need', () => {
  const shown = table('Request').map(([request, permission]) => [plain(request), plain(permission)]);
  const wanted = ROUTES.map(({ path, access }) => [
    path.replace(/:(\w+)/g, '{$1}'),
    access === 'anyone' ? 'none' : access === 'any key' ? 'any' : access,
  ]);
  expect(shown.sort()).toEqual(wanted.sort());
});

test('the documents list all statuses of errors', () => {
  const shown = table('Status').map(([status]) => Number(status));
  expect(shown).toEqual([...new Set(ERROR_STATUSES)].sort());
});

test('the documents list all codes of errors by status', () => {
  const shown = table('Status').map(([status, codes]) => [Number(status), plain(codes).split(', ')]);
  const wanted = ERROR_STATUSES.map((status) => [
    status,
    DOCUMENTED_CODES.filter((code) => refusalOf(code).status === status),
  ]);
  expect(shown).toEqual(wanted);
});

test('the documents list all exit codes', () => {
  const shown = table('Exit code').map(([code]) => Number(code));
  const codes = (Object.keys(REFUSALS) as ErrorCode[]).map(exitCodeOf);
  expect(shown).toEqual([...new Set([0, ...codes])].sort((a, b) => a - b));
});

test('the documents state the limits correctly', () => {
  const boundsOf = (input: keyof typeof FIELDS) => factsOf(FIELDS[input]).bounds ?? { min: 0, max: 0 };
  const [name, description] = [boundsOf('name'), boundsOf('description')];
  const { maxPerKey, maxQuota, maxWindowSeconds } = RATE_LIMIT_BOUNDS;
  const shown = Object.fromEntries(table('What').map(([what, limit]) => [what, limit]));
  expect(shown).toEqual({
    'Keys of a profile that are pending, Active or suspended': String(KEYS_PER_PROFILE),
    'Keys requested, and renamings, of a profile on one day (UTC)': `${MAX_PER_DAY} each`,
    'Name of a key': `${name.min}–${name.max} characters`,
    Description: `${description.min}–${written(description.max)} characters`,
    'Project URL': `${written(boundsOf('projectUrl').max)} characters`,
    'Expected usage': `${written(boundsOf('expectedUsage').max)} characters`,
    'Rate limits of a key': `1–${maxPerKey}, quota 1–${written(maxQuota)}, window 1 s–${maxWindowSeconds / 86_400} d`,
    'Username or alias': `1–${NAME_MAX_CODE_POINTS} characters`,
    'Auth ID': `1–${AUTH_ID_MAX_BYTES} bytes`,
    'Line of an import': `${MAX_LINE_BYTES / 2 ** 20} MiB`,
    Leaderboard: `${written(BOARD_SIZE)} profiles`,
  });
  expect(read('docs/architecture.md')).toContain(`at most ${written(MAX_GROUPS)} timestamps`);
  expect(read('docs/keys.md')).toContain(`at most ${KEYS_PER_PROFILE} keys`);
});

test('the documents have the latest results of the benchmark', () => {
  const { results } = JSON.parse(readFileSync(join(PROJECT, 'test/bench/results.json'), 'utf8')) as Results;
  expect(table('Case')).toEqual(results.map(tableRow));
});

test('the documents list all states of a key', () => {
  const shown = table('From').flatMap(([from, , to]) => [...plain(from).split(', '), plain(to)]);
  expect(new Set(shown)).toEqual(new Set(['nothing', ...KEY_STATES]));
});

test('the documents list all forms of MAIL_URL', () => {
  const shown = table('Value of `MAIL_URL`').map(([form]) => parseMailUrl(plain(form)));
  expect(shown).toMatchObject([{ secure: false, port: 587 }, { secure: true, port: 465 }, { kind: 'folder' }]);
});

test('the glossary has at most fifteen words', () => {
  expect(table('Word').length).toBeLessThanOrEqual(15);
});

test('the README has at most 900 words, among them the commands that try and test it', () => {
  for (const command of ['npx -y bun@1.4.5 run demo', 'npx -y bun@1.4.5 run test']) expect(README).toContain(command);
  expect(README.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThanOrEqual(900);
});

/** The anchors that GitHub makes from the headings of a document. */
function anchorsOf(text: string): string[] {
  const headings = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(
    ([, heading]) => heading ?? '',
  );
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe.each([...DOCUMENTS])('%s', (path, text) => {
  test('links to existing documents and headings', () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, file = '', anchor]) => {
      const target = file === '' ? path : relative(PROJECT, join(PROJECT, dirname(path), file));
      if (!existsSync(join(PROJECT, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test('names existing files', () => {
    // A path after a leading slash is one of the server: /docs/try.
    const paths = [
      ...text.matchAll(/(?<!(?:^|[^\w.])\/)\b((?:server|cli|shared|drizzle|test|deploy|docs)\/[\w./-]*\w)/g),
    ].map(([, named]) => named);
    const made = ['test/support/api-types.ts', 'test/support/manage-types.ts'];
    expect(
      paths.filter((named) => !made.includes(named as string) && !existsSync(join(PROJECT, named as string))),
    ).toEqual([]);
  });

  test('names existing commands and options', async () => {
    const program = await createProgram();
    const lines = [...codeOf(text).matchAll(/\bprofilectl((?: [\w<-][^\s|]*)+)/g)].map(([, words]) => words as string);
    expect(lines.filter((words) => !isCommand(program, words.trim().split(' ')))).toEqual([]);
  });

  test('names existing variables', () => {
    const names = [...codeOf(text).matchAll(/(?<![\w-])([A-Z]+_[A-Z_]+)(?![\w-])/g)].map(([, name]) => name as string);
    const others =
      /^((BUN|RESTIC|AWS|PROFILECTL)_|(PROFILES_FILE|IMPORT_FLAGS|ON_ERROR_STOP|STATE_DIRECTORY|CREDENTIALS_DIRECTORY)$)/;
    expect(names.filter((name) => !(name in VARIABLES) && !others.test(name))).toEqual([]);
  });
});

/** All code of a document: shell blocks, and spans in sentences. */
function codeOf(text: string): string {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, code]) => code?.replace(/ #.*$/gm, ''));
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`]+)`/g)].map(([, code]) => code);
  return [...blocks, ...spans].join('\n');
}

/** Whether these words are a command of `profilectl`, or a group of commands, with existing options. */
function isCommand(program: Command, words: readonly string[]): boolean {
  let command = program;
  for (const word of words) {
    const next = command.commands.find((child) => child.name() === word);
    if (next !== undefined) command = next;
    else if (word.startsWith('--')) {
      const options = ['--help', ...[...program.options, ...command.options].map(({ long }) => long)];
      if (!options.includes(word)) return false;
    } else if (command.commands.length > 0) return false;
  }
  return true;
}

test('the README links to every document', () => {
  expect([...DOCUMENTS.keys()].filter((path) => path !== 'README.md' && !README.includes(`](${path})`))).toEqual([]);
});

test('the map of CONTRIBUTING has every room', () => {
  const folders = new Set(
    SOURCES.map(({ path }) => dirname(path)).filter((path) => /^(server|cli|shared)\//.test(path)),
  );
  const missing = [...folders].filter((path) => !read('CONTRIBUTING.md').includes(`${basename(path)}/`));
  expect(missing).toEqual([]);
});

test('the responses in the README and docs/api.md are those of the sample profiles', async () => {
  const deps = testDeps();
  await importProfiles(deps, join(PROJECT, 'shared/sample/profiles.jsonl'), {
    merge: false,
    strict: true,
    by: onBox('test'),
    onKeys: effectsOnKeys(onBox('test')),
  });
  const [, target = ''] = /^\$ curl .* http:\/\/localhost:3000(\S+)\n/m.exec(README) ?? [];
  expect(target).toBe('/api/lookup/username/alan/links');
  expect(README).toContain(`${target}\n${readingOf(deps).lookup.links('username', 'alan')?.text.body}\n`);
  expect(read('docs/api.md')).toContain(`\n${readingOf(deps).lookup.profile('username', 'alan')?.text.body}\n`);
});

test('the line in docs/profiles.md has every field and can be imported', async () => {
  const deps = testDeps();
  const line =
    read('docs/profiles.md')
      .split('\n')
      .find((text) => text.startsWith('{"id":7,"username":"Ada","aliases"')) ?? '';
  expect(Object.keys(JSON.parse(line))).toEqual(Object.keys(PROFILE_FIELDS));
  expect(Object.keys(JSON.parse(line).links[0])).toEqual(Object.keys(LINK_FIELDS));
  const result = await importProfiles(deps, [Buffer.from(line)], {
    merge: false,
    strict: true,
    by: onBox('test'),
    onKeys: effectsOnKeys(onBox('test')),
  });
  expect(result).toMatchObject({ imported: 1, deleted: 0, refused: [], dropped: {} });
});
