import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../cli/program.ts';
import { escapeRoff, manPages } from '../../deploy/release/man.ts';
import { VARIABLES } from '../../shared/config/variables.ts';
import { tempFolder } from '../support/world.ts';

// The man pages are laid out by mandoc and compared with the help of each command.

const isAbsent = Bun.which('mandoc') === null;

const PAGES = await manPages('2026-01-02');

/** Bold letters are overstruck. */
const OVERSTRUCK = new RegExp(`.${String.fromCharCode(8)}`, 'g');

/** Renders a page with mandoc and these options: plain text without overstrikes, and what mandoc complained about. */
function render(page: string, ...options: string[]): { text: string; faults: string } {
  const file = join(tempFolder(), 'page.1');
  writeFileSync(file, page);
  const { stdout, stderr } = Bun.spawnSync(['mandoc', ...options, file]);
  return { text: stdout.toString().replace(OVERSTRUCK, ''), faults: stderr.toString() };
}

/** The words of text, without its line breaks. */
const flat = (text: string) => text.replace(/\s+/g, ' ').trim();

test.skipIf(isAbsent)('mandoc finds no problem in any page', () => {
  for (const [name, page] of PAGES) {
    expect([name, render(page, '-T', 'lint', '-W', 'warning')]).toEqual([name, { text: '', faults: '' }]);
  }
});

/** Every command without subcommands, with its words. */
function leavesOf(command: Command, words: string[]): [string[], Command][] {
  const children = command.commands.filter((child) => child.name() !== 'help' || command.parent === null);
  if (children.length === 0) return [[words, command]];
  return children.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

test.skipIf(isAbsent)(
  'the page of a command’s first word has each command, argument, option and sentence of the help',
  async () => {
    const leaves = leavesOf(await createProgram(), []);
    expect(leaves.length).toBeGreaterThan(40);
    expect([...PAGES.keys()].sort()).toEqual(
      ['profilectl.1', ...new Set(leaves.map(([[first]]) => `profilectl-${first}.1`))].sort(),
    );
    const rendered = new Map(
      [...PAGES].map(([name, page]) => [name, render(page, '-T', 'utf8', '-O', 'width=200').text]),
    );
    for (const [words, leaf] of leaves) {
      const text = rendered.get(`profilectl-${words[0]}.1`) ?? '';
      const help = helpOf(leaf);
      const examples = help.split('\n').filter((line) => /^ {2}(profilectl|eval|zcat) /.test(line));
      // Examples can be copied unchanged.
      for (const line of examples) expect(text.split('\n').map((shown) => shown.trim())).toContain(line.trim());
      const options = leaf.options.filter(({ hidden }) => !hidden);
      const parts = [
        `profilectl ${words.join(' ')}`,
        leaf.description(),
        ...leaf.registeredArguments.flatMap((argument) => [argument.name(), argument.description]),
        ...options.flatMap(({ flags, description }) => [flags, description]),
        ...sentencesBelow(help),
      ];
      for (const part of parts) expect(flat(text)).toContain(flat(part));
    }
  },
  60_000,
);

/** What `--help` prints. */
function helpOf(command: Command): string {
  let help = '';
  const writeOut = (text: string) => {
    help += text;
  };
  command.configureOutput({ writeOut });
  command.outputHelp();
  return help;
}

/** The sentences of a help below its lists. */
function sentencesBelow(help: string): string[] {
  const paragraphs = help.split('\n\n');
  return paragraphs.slice(paragraphs.findIndex((text) => text.startsWith('Global Options:')) + 1);
}

test.skipIf(isAbsent)('the page of the program has its options, all commands, exit codes and variables', async () => {
  const program = await createProgram();
  const text = flat(render(PAGES.get('profilectl.1') ?? '', '-T', 'utf8', '-O', 'width=200').text);
  for (const { flags, description, hidden } of program.options)
    if (!hidden) expect(text).toContain(`${flags} ${description}`);
  for (const command of program.commands)
    expect(text).toContain(`profilectl-${command.name()} ${command.description()}`);
  for (const [name, { meaning }] of Object.entries(VARIABLES)) expect(text).toContain(`${name} ${meaning}`);
  expect(text).toContain('Exit codes: 0 done');
});

test.skipIf(isAbsent)('no character is lost or changed in the man pages', () => {
  const text = `.TH 'a' "b" \\fB --c ^d ~e \`f\` … – ’ <g> 10%`;
  const page = `.TH X 1 2026-01-02 Y Z\n.SH NAME\n${escapeRoff(text)}\n`;
  expect(render(page, '-T', 'utf8').text).toContain(text);
});
