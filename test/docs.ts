import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../cli/program.ts';
import { createMetrics } from '../server/observability/metrics.ts';
import { systemClock } from '../shared/clock.ts';
import { VARIABLES } from '../shared/config/config.ts';
import { DOCUMENTED_CODES, refusalOf } from '../shared/errors.ts';
import { openDatabase } from '../shared/files/open.ts';
import { FIELDS, PUBLIC_FIELDS } from '../shared/profiles/fields.ts';
import { EXIT_CODES } from '../shared/refusals.ts';

// `bun run docs` writes the tables that repeat the code, between `<!-- generated: name -->` and `<!-- end -->`, and
// deploy/settings.example. It fails if a link leads nowhere or the example of a profile lacks a field; with --check, as the tests
// call it, also if what it writes is old.

const PROJECT = join(import.meta.dir, '..');

type Rows = readonly (readonly string[])[];

function table(head: readonly string[], rows: Rows): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`);
  return lines.join('').replaceAll('<', '&lt;');
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``);

/** Commands that do something, with the words that lead to them. */
function leavesOf(command: Command, path: readonly string[] = []): Rows {
  if (command.commands.length === 0) return [[code(path.join(' ')), command.description()]];
  return command.commands.flatMap((below) => leavesOf(below, [...path, below.name()]));
}

async function metricRows(): Promise<Rows> {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-docs-'));
  const db = openDatabase(join(folder, 'profiles.db'), 'serve');
  const text = await createMetrics({ db, clock: systemClock }).read();
  db.$client.close();
  rmSync(folder, { recursive: true });
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(([, name = '', help = '', type = '']) => [
    code(name),
    type,
    help,
  ]);
}

function statusRows(): Rows {
  const rows = DOCUMENTED_CODES.map((name) => {
    const { status = 500, when = '', headers } = refusalOf(name);
    return [
      `${status}`,
      code(name),
      when,
      Object.keys(headers?.({}) ?? {})
        .map(code)
        .join(', '),
    ];
  });
  return rows.sort(([one = ''], [other = '']) => one.localeCompare(other));
}

const TABLES: Record<string, string> = {
  commands: table(['Command', 'Purpose'], leavesOf(await createProgram())),
  'exit codes': table(['Exit code', 'Meaning'], Object.entries(EXIT_CODES)),
  variables: table(
    ['Variable', 'Default', 'Meaning'],
    Object.entries(VARIABLES).map(([name, { default: unset, meaning }]) => [code(name), code(unset), meaning]),
  ),
  statuses: table(['Status', '`X-Error-Code`', 'When', 'Header'], statusRows()),
  metrics: table(['Metric', 'Type', 'Meaning'], await metricRows()),
};

/** What an installation on one machine begins with; all others are commented out. */
const SET: Record<string, string> = {
  DATABASE_PATH: '/var/lib/profile-lookup/profiles.db',
  TRUSTED_PROXIES: '127.0.0.1',
};

function settingsExample(): string {
  const entries = Object.entries(VARIABLES).map(([name, { meaning, default: unset, example }]) => {
    const [comment, set] = [`# ${meaning[0]?.toUpperCase()}${meaning.slice(1)}.`, SET[name]];
    return `${comment}\n${set === undefined ? `#${name}=${unset || example}` : `${name}=${set}`}\n`;
  });
  return `${INTRODUCTION}\n${entries.join('\n')}`;
}

const INTRODUCTION = `# The settings of Profile Lookup on a server: /etc/profile-lookup/settings, owned by root:profile-lookup, mode 0640.
#
# The service and all commands read this file. A value with # or a quote in it must be in quotes. A variable that is commented
# out shows its default, or an example if it has no default. In /etc/profile-lookup the service sees only this file and the
# three secret files named below. After a change, check the file and restart the service:
#   sudo profilectl config check
#   sudo systemctl restart profile-lookup
`;

/** The anchors of a document, as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '');

/** The links of a document that lead nowhere. Paths of a server, such as /docs, are not checked. */
async function deadLinks(path: string, text: string): Promise<string[]> {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)].map(
    ([, to, picture]) => to ?? picture ?? '',
  );
  const dead: string[] = [];
  for (const link of links.filter((to) => !/^(?:\/|https?:)/.test(to))) {
    const [name = '', anchor] = link.split('#');
    const file = Bun.file(name === '' ? join(PROJECT, path) : join(PROJECT, dirname(path), name));
    const leads = (await file.exists()) && (anchor === undefined || anchorsOf(await file.text()).includes(anchor));
    if (!leads) dead.push(`${path}: the link ${link} leads nowhere`);
  }
  return dead;
}

/** The documents whose first JSON object is a profile, and the fields that it has. */
const EXAMPLES: Record<string, readonly string[]> = {
  'docs/profiles.md': Object.keys(FIELDS),
  'docs/api.md': PUBLIC_FIELDS,
};

/** Whether the example of a profile in a document has its fields in their order. */
function exampleFaults(path: string, text: string): string[] {
  const wanted = EXAMPLES[path]?.join(', ');
  const [, line = '{}'] = /^```json\n(.*)\n```$/m.exec(text) ?? [];
  if (wanted === undefined || Object.keys(JSON.parse(line)).join(', ') === wanted) return [];
  return [`${path}: the example of a profile must have the fields ${wanted}`];
}

function filled(path: string, text: string): string {
  return text.replace(/(<!-- generated: (.+) -->\n)[\s\S]*?(?=<!-- end -->)/g, (_, begin: string, name: string) => {
    const made = TABLES[name];
    if (made === undefined) throw new Error(`${path}: there is no table "${name}".`);
    return `${begin}\n${made}\n`;
  });
}

const isCheck = process.argv.includes('--check');
const problems: string[] = [];
const paths = ['.', 'docs'].flatMap((folder) => readdirSync(join(PROJECT, folder)).map((name) => join(folder, name)));
for (const path of paths.filter((path) => path.endsWith('.md'))) {
  const file = Bun.file(join(PROJECT, path));
  const old = await file.text();
  problems.push(
    ...(await write(path, old, filled(path, old))),
    ...(await deadLinks(path, old)),
    ...exampleFaults(path, old),
  );
}
const example = 'deploy/settings.example';
problems.push(...(await write(example, await Bun.file(join(PROJECT, example)).text(), settingsExample())));
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Writes a file that has changed; with --check, reports it. */
async function write(path: string, old: string, made: string): Promise<string[]> {
  if (old === made) return [];
  if (isCheck) return [`${path} is old: run "bun run docs"`];
  await Bun.write(join(PROJECT, path), made);
  return [];
}
