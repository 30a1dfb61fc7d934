import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Argument, Command, Option } from 'commander';
import { createProgram } from '../../cli/program.ts';
import { VARIABLES } from '../../shared/config/variables.ts';
import { VERSION } from '../../shared/version.ts';

// `bun deploy/release/man.ts <folder> <YYYY-MM-DD>` generates man pages from the help: one for the program and one for each
// first word of its commands. The format is man(7).

/** The width of help texts; man reflows paragraphs, and keeps only lists and examples as they are. */
const COLUMNS = 80;

/** Escapes what roff would interpret, or replace with a typographic character, in a line of text. */
export function escapeRoff(text: string): string {
  const signs: Record<string, string> = {
    '\\': '\\e',
    '-': '\\-',
    "'": '\\(aq',
    '`': '\\(ga',
    '^': '\\(ha',
    '~': '\\(ti',
  };
  return text.replace(/[\\'`^~-]/g, (sign) => signs[sign] as string).replace(/^\./, '\\&.');
}

const bold = (text: string) => `\\fB${escapeRoff(text)}\\fR`;

function heading(name: string, day: string): string {
  return `.TH ${name.toUpperCase()} 1 ${day} "Profile Lookup ${VERSION}" "Profile Lookup"\n`;
}

function section(name: string, body: string): string {
  return body === '' ? '' : `.SH ${name}\n${body}`;
}

function definitions(entries: readonly [term: string, about: string][]): string {
  return entries.map(([term, about]) => `.TP\n${term}\n${escapeRoff(about)}\n`).join('');
}

function optionList(options: readonly Option[]): string {
  const shown = options.filter(({ hidden }) => !hidden);
  return definitions(shown.map(({ flags, description }) => [bold(flags), description]));
}

function argumentList(args: readonly Argument[]): string {
  return definitions(args.map((argument) => [bold(argument.name()), argument.description]));
}

/** The help's text below its lists: paragraphs, and lines that begin with spaces, which stay as they are. */
function moreText(command: Command): string {
  let printed = '';
  const writeOut = (text: string) => {
    printed += text;
  };
  command.configureOutput({ writeOut, getOutHelpWidth: () => COLUMNS });
  command.outputHelp();
  const lists = command.helpInformation();
  if (!printed.startsWith(lists)) throw new Error(`The help of "${command.name()}" does not begin with its lists.`);
  const lines = printed.slice(lists.length).trim().split('\n');
  let isLiteral = false;
  const roff = lines.flatMap((line) => {
    const wasLiteral = isLiteral;
    isLiteral = line.startsWith('  ');
    const switched = isLiteral === wasLiteral ? [] : isLiteral ? ['.PP', '.nf'] : ['.fi', '.PP'];
    if (line === '') return [...switched, ...(wasLiteral ? [] : ['.PP'])];
    return [...switched, escapeRoff(line)];
  });
  const text = [...roff, ...(isLiteral ? ['.fi'] : [])].join('\n');
  return `${text.replaceAll('.PP\n.PP', '.PP').replace(/^\.PP\n(?!\.nf)/, '')}\n`;
}

const summaryOf = (command: Command) => command.description().replace(/\.$/, '');

/** The commands without subcommands, with all their words. */
function leavesOf(command: Command, words: string): [words: string, leaf: Command][] {
  const children = command.commands.filter((child) => child.name() !== 'help' || child.registeredArguments.length > 0);
  if (children.length === 0) return [[words, command]];
  return children.flatMap((child) => leavesOf(child, `${words} ${child.name()}`));
}

function synopsis(words: string, { registeredArguments, options }: Command): string {
  const args = registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}...` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  const shown = [...(options.some(({ hidden }) => !hidden) ? ['[options]'] : []), ...args];
  return `.PP\n${bold(words)} ${escapeRoff(shown.join(' '))}`.trimEnd();
}

function programPage(program: Command, day: string): string {
  const commands = program.commands.map((child): [string, string] => [
    bold(`profilectl-${child.name()}`),
    child.description(),
  ]);
  const variables = Object.entries(VARIABLES).map(([name, variable]): [string, string] => [
    bold(name),
    `${variable.meaning}${variable.default === '' ? '' : ` (default: ${variable.default})`}`,
  ]);
  return [
    heading('profilectl', day),
    section('NAME', `profilectl \\- ${escapeRoff(summaryOf(program))}\n`),
    section('SYNOPSIS', `${bold('profilectl')} ${escapeRoff('[options] <command>')}\n`),
    section('DESCRIPTION', moreText(program)),
    section('OPTIONS', optionList(program.options)),
    section('COMMANDS', `Each has its own page, named like this:\n${definitions(commands)}`),
    section('ENVIRONMENT', definitions(variables)),
  ].join('');
}

/** The page of a first word, with all commands that begin with it. */
function commandPage(command: Command, day: string): string {
  const name = `profilectl-${command.name()}`;
  const leaves = leavesOf(command, `profilectl ${command.name()}`);
  const parts = leaves.map(([words, leaf]) => {
    const lists = argumentList(leaf.registeredArguments) + optionList(leaf.options);
    return section(`"${words}"`, `${escapeRoff(leaf.description())}\n${lists}.PP\n${moreText(leaf)}`);
  });
  return [
    heading(name, day),
    section('NAME', `${escapeRoff(name)} \\- ${escapeRoff(summaryOf(command))}\n`),
    section('SYNOPSIS', `${leaves.map(([words, leaf]) => synopsis(words, leaf)).join('\n')}\n`.replace('.PP\n', '')),
    ...parts,
    section('"SEE ALSO"', `${bold('profilectl')}(1) has the options that all commands accept.\n`),
  ].join('');
}

/** All man pages by file name; `day` (YYYY-MM-DD) is the date that they show. */
export async function manPages(day: string): Promise<Map<string, string>> {
  const program = await createProgram();
  const pages = new Map([['profilectl.1', programPage(program, day)]]);
  for (const command of program.commands) pages.set(`profilectl-${command.name()}.1`, commandPage(command, day));
  return pages;
}

if (import.meta.main) {
  const [folder = '', day = ''] = process.argv.slice(2);
  for (const [name, page] of await manPages(day)) writeFileSync(join(folder, name), page);
}
