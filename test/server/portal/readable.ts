import { afterAll, expect } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { unescaped } from '../../support/forms.ts';
import type { Answer } from '../../support/pages.ts';
import { IS_RECORDING } from '../../support/recorded.ts';

// A page as a person reads it, with the states of its fields: one line for each block, indented within forms, lists, tables and
// details. Headings begin with `#`, links are `[text](path)`, fields and buttons stand in brackets, and what else a reader or
// a script is told (roles, names, states) in braces.

const BLOCKS =
  /^(address|article|aside|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-4]|header|legend|li|main|nav|ol|p|pre|section|summary|table|tr|ul)$/;
const INDENTING = /^(details|dl|fieldset|form|li|nav|table)$/;
const SKIPPED = /^(script|style|svg|option)$/;

/** What stands before the text of an element. */
const BEFORE: Record<string, string> = {
  h1: '# ',
  h2: '## ',
  h3: '### ',
  h4: '#### ',
  li: '- ',
  summary: '> ',
  dd: ': ',
  th: '| ',
  td: '| ',
  form: 'form',
  fieldset: 'group',
  nav: 'nav',
  aside: 'aside',
};

/** What readers and scripts are told beside texts. */
const TOLD = ['role', 'aria-label', 'aria-current', 'aria-live', 'data-result', 'data-passkey'];
const STATES = ['open', 'hidden', 'disabled', 'checked', 'selected', 'required', 'autofocus'];

/** Fields whose values differ in each run: versions, tokens and challenges. */
const RANDOM = ['shown', 'revision', 'formId', 'ticket', 'credential', 'secret'];

type Element = HTMLRewriterTypes.Element;

/** The title and the main part of a page, or its whole body; also expects that ids are unique and that links within it lead somewhere. */
function readable(page: string, part: 'main' | 'body' = 'main'): string {
  const lines: string[] = [];
  const [ids, targets]: string[][] = [[], []] as [string[], string[]];
  let [line, depth, skipped] = ['', 0, 0];
  const endLine = () => {
    const text = line.replace(/\s+/g, ' ').trim();
    if (text !== '') lines.push('  '.repeat(depth) + text);
    line = '';
  };
  const element = (one: Element) => {
    const { tagName: tag, canHaveContent } = one;
    const attribute = (name: string) => unescaped(one.getAttribute(name) ?? '');
    if (one.hasAttribute('id')) ids.push(attribute('id'));
    for (const name of ['for', 'aria-describedby', 'aria-labelledby', 'list', 'form', 'aria-controls']) {
      if (one.hasAttribute(name)) targets.push(...attribute(name).split(' '));
    }
    if (tag === 'a' && attribute('href').startsWith('#')) targets.push(attribute('href').slice(1));
    if (BLOCKS.test(tag)) endLine();
    const isRandom = tag === 'textarea' && RANDOM.includes(attribute('name'));
    if (skipped === 0) line += `${BEFORE[tag] ?? ''}${opening(one)}`;
    if (SKIPPED.test(tag) || isRandom) skipped++;
    if (INDENTING.test(tag)) {
      if (tag !== 'li') endLine();
      depth++;
    }
    if (!canHaveContent) return;
    const closing = tag === 'a' ? `](${attribute('href')})` : tag === 'button' || tag === 'textarea' ? ']' : '';
    one.onEndTag(() => {
      if (SKIPPED.test(tag) || isRandom) skipped--;
      if (skipped === 0) line += closing;
      if (tag === 'td' || tag === 'th') line += ' ';
      if (BLOCKS.test(tag)) endLine();
      if (INDENTING.test(tag)) depth--;
    });
  };
  const text = ({ text: words }: { text: string }) => {
    if (skipped === 0) line += unescaped(words);
  };
  // Also those of parts of a drawing.
  const title = ({ text: words }: { text: string }) => {
    line += unescaped(words);
  };
  new HTMLRewriter()
    .on('title', { text: title, element: (one) => one.onEndTag(endLine) })
    .on(part, { text })
    .on(`${part} *`, { element })
    .transform(page);
  endLine();
  expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
  expect(targets.filter((target) => !ids.includes(target) && target !== 'main')).toEqual([]);
  return lines.join('\n');
}

/** What the beginning of an element says. */
function opening(one: Element): string {
  const { tagName: tag } = one;
  const attribute = (name: string) => unescaped(one.getAttribute(name) ?? '');
  const states = STATES.filter((name) => one.hasAttribute(name));
  const told = TOLD.filter((name) => one.hasAttribute(name)).map((name) => `${name}=${attribute(name)}`);
  const isWrong = one.getAttribute('aria-invalid') === 'true' ? ['wrong'] : [];
  const name = attribute('name');
  const value = RANDOM.includes(name) && attribute('value') !== '' ? '…' : attribute('value');
  const all = [...states, ...isWrong, ...told];
  if (tag === 'a') return `${all.length > 0 ? `{${all.join(', ')}} ` : ''}[`;
  if (tag === 'button') {
    const sent = one.hasAttribute('name') ? [`${name}=${value}`] : [];
    const look = ['second', 'danger'].filter((each) => attribute('class').split(' ').includes(each));
    return ` [button ${[...look, ...sent, ...all].map((each) => `{${each}} `).join('')}`;
  }
  if (tag === 'input') {
    const type = attribute('type') || 'text';
    return ` [${[type, `${name}=${value}`, ...all].join(' ')}] `;
  }
  if (tag === 'textarea') return ` [${['lines', name, ...all].join(' ')}: `;
  if (tag === 'select') return ` [${['select', name, ...all].join(' ')}] `;
  if (tag === 'option') return ` [${attribute('value')}${states.includes('selected') ? ' selected' : ''}]`;
  if (tag === 'form')
    return ` ${attribute('method')} ${attribute('action')}${all.map((each) => ` {${each}}`).join('')}`;
  return all.length > 0 ? `{${all.join(', ')}} ` : '';
}

/**
 * Returns a function that compares a text with the section of a recorded file that has this title. A recording keeps the sections
 * that did not run, and names them: remove by hand those of which no test is left.
 */
function recordingIn(path: string): (title: string, text: string) => void {
  const before = existsSync(path) ? readFileSync(path, 'utf8').split(/^=== /m).slice(1) : [];
  const sections = new Map(before.map((section) => section.trimEnd().split(/ ===\n(.*)/s, 2) as [string, string]));
  const now = new Map<string, string>();
  if (IS_RECORDING) {
    afterAll(() => {
      const old = [...sections.keys()].filter((title) => !now.has(title));
      if (old.length > 0) process.stderr.write(`Not recorded again in ${path}: ${old.join('; ')}\n`);
      const all = new Map(old.length > 0 ? [...sections, ...now] : now);
      writeFileSync(path, [...all].map(([title, text]) => `=== ${title} ===\n${text}\n`).join('\n'));
    });
  }
  return (title, text) => {
    // Two sections with one title would be compared with the same text.
    if (now.has(title)) throw new Error(`“${title}” is recorded twice.`);
    now.set(title, text);
    if (!IS_RECORDING) expect(text).toBe(sections.get(title) ?? `nothing is recorded for “${title}”`);
  };
}

/**
 * Returns a function that compares what a person sees of a response with what is recorded under a title in the folder `recorded`
 * beside the test file. `part` is `body` for the page with its head and foot.
 */
export function pageRecorder(testFile: string) {
  const record = recordingIn(join(testFile, '../recorded', `${basename(testFile, '.test.ts')}.txt`));
  return (title: string, answer: Answer, part: 'main' | 'body' = 'main'): void => {
    const { status, refusal, location, body, hide } = answer;
    const head = [status, ...(refusal === null ? [] : [refusal]), ...(location === null ? [] : [`to ${location}`])];
    const page = body.includes('<main') ? `\n${readable(body, part)}` : '';
    const stable = page
      .replace(/\/(sessions|passkeys)\/[\w-]+(?=\/)/g, '/$1/<number>')
      .replace(/127\.0\.0\.1:\d{4,}/g, '127.0.0.1:<port>');
    record(title, hide(`${head.join(' ')}${stable}`));
  };
}
