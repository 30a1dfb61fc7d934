import { afterAll, expect } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Db } from '../../shared/db/connect.ts';

// A page as a person reads it, with the states of its fields: one line for each block, indented within forms, lists, tables and
// details. Headings begin with `#`, links are `[text](path)`, fields and buttons stand in brackets, and what else a reader or
// a script is told (roles, names, states) in braces.

const BLOCKS =
  /^(address|article|aside|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-4]|header|legend|li|main|nav|ol|p|pre|section|summary|table|tr|ul)$/;
const INDENTING = /^(details|dl|fieldset|form|li|nav|table)$/;
const SKIPPED = /^(script|style|svg|option)$/;

/** What stands before the text of an element. */
const BEFORE: Record<string, string> = {
  ...{ h1: '# ', h2: '## ', h3: '### ', h4: '#### ', li: '- ', summary: '> ', dd: ': ', th: '| ', td: '| ' },
  ...{ form: 'form', fieldset: 'group', nav: 'nav', aside: 'aside' },
};

/** What readers and scripts are told beside texts. */
const TOLD = ['role', 'aria-label', 'aria-current', 'aria-live', 'data-result', 'data-passkey'];
const STATES = ['open', 'hidden', 'disabled', 'checked', 'selected', 'required', 'autofocus'];

/** Fields whose values differ in each run: versions, tokens and challenges. */
const RANDOM = ['shown', 'revision', 'formId', 'ticket', 'credential', 'secret'];

type Element = HTMLRewriterTypes.Element;

/** The title and the main part of a page, or its whole body; also expects that ids are unique and that links within it lead somewhere. */
export function readable(page: string, part: 'main' | 'body' = 'main'): string {
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

// Forms of a page as a browser reads and sends them.

type Pair = [name: string, value: string];
type PageForm = { id: string; action: string; fields: Pair[]; buttons: { text: string; pairs: Pair[] }[] };

const TAGS = /<(form|input|select|option)\b([^>]*)>|<(textarea|button)\b([^>]*)>(.*?)<\/\3>|<\/form>/gs;

/** The value of an attribute in a tag, null if it has none. */
function attributeIn(tag: string, name: string): string | null {
  const found = new RegExp(`\\s${name}(?:="([^"]*)")?(?=\\s|$)`).exec(tag);
  return found === null ? null : unescaped(found[1] ?? '');
}

/** The forms of a page, with what each would send. */
function formsOn(page: string): PageForm[] {
  const forms: PageForm[] = [];
  let [current, chosenFor]: [PageForm | undefined, string] = [undefined, ''];
  for (const [, empty, its = '', kind = empty, others = its, content = ''] of page.matchAll(TAGS)) {
    const attribute = (name: string) => attributeIn(others, name);
    const [name, value] = [attribute('name') ?? '', attribute('value') ?? ''];
    // Fields and buttons may stand outside of their form.
    const form = attribute('form') === null ? current : forms.find(({ id }) => id === attribute('form'));
    if (kind === 'form') {
      current = { id: attribute('id') ?? '', action: attribute('action') ?? '', fields: [], buttons: [] };
      forms.push(current);
    } else if (kind === 'input') {
      const isLeftOut = /checkbox|radio/.test(attribute('type') ?? '') && attribute('checked') === null;
      if (!isLeftOut) form?.fields.push([name, value]);
    } else if (kind === 'select') chosenFor = name;
    else if (kind === 'option') {
      if (attribute('selected') !== null) form?.fields.push([chosenFor, value]);
    } else if (kind === 'textarea') form?.fields.push([name, unescaped(content.replace(/^\n/, ''))]);
    else if (kind === 'button') {
      const text = unescaped(content.replace(/<[^>]*>/g, ''))
        .replace(/\s+/g, ' ')
        .trim();
      form?.buttons.push({ text, pairs: attribute('name') === null ? [] : [[name, value]] });
    } else current = undefined;
  }
  return forms;
}

/** Values instead of those of a page's fields, by name. */
export type Changes = Readonly<Record<string, string | readonly string[]>>;

/** Where a form of a page is sent with one of its buttons, and what, with these changes. */
export function filledIn(page: string, button: string, changes: Changes = {}): { action: string; form: Pair[] } {
  for (const { action, fields, buttons } of formsOn(page)) {
    const pressed = buttons.find(({ text }) => text === button);
    if (pressed === undefined) continue;
    const kept = fields.filter(([name]) => !(name in changes));
    const typed = Object.entries(changes).flatMap(([name, values]) =>
      [values].flat().map((value): Pair => [name, value as string]),
    );
    return { action, form: [...kept, ...typed, ...pressed.pairs] };
  }
  const all = formsOn(page).flatMap(({ buttons }) => buttons.map(({ text }) => text));
  throw new Error(`No form has the button “${button}”, but ${all.join(', ')}.`);
}

// What commands print and pages show is recorded in text files. `UPDATE=1 bun test <file>` records again; read the difference.

/** Whether to record instead of comparing. */
export const IS_RECORDING = process.env.UPDATE !== undefined;

/**
 * Returns a function that compares a text with the section of a recorded file that has this title. When the test file is done,
 * a recording has replaced the whole file.
 */
export function recordingIn(path: string): (title: string, text: string) => void {
  const before = existsSync(path) ? readFileSync(path, 'utf8').split(/^=== /m).slice(1) : [];
  const sections = new Map(before.map((section) => section.trimEnd().split(/ ===\n(.*)/s, 2) as [string, string]));
  const now = new Map<string, string>();
  if (IS_RECORDING) {
    afterAll(() => writeFileSync(path, [...now].map(([title, text]) => `=== ${title} ===\n${text}\n`).join('\n')));
  }
  return (title, text) => {
    // Two sections with one title would be compared with the same text.
    if (now.has(title)) throw new Error(`“${title}” is recorded twice.`);
    now.set(title, text);
    if (!IS_RECORDING) expect(text).toBe(sections.get(title) ?? `nothing is recorded for “${title}”`);
  };
}

const IDENTIFIERS = 'SELECT identifier FROM api_keys UNION ALL SELECT identifier FROM backend_tokens';

/** Gives the identifiers in a database names as wide as they are, such as `<id-001>`, in the order in which texts have them. */
export function namesOfIdentifiers(db: Db) {
  const names = new Map<string, string>();
  return {
    hide: (text: string) => {
      const all = db.$client.query<{ identifier: string }, []>(IDENTIFIERS).all();
      const found = all.map(({ identifier }) => ({ identifier, at: text.indexOf(identifier) }));
      for (const { identifier, at } of found.toSorted((one, other) => one.at - other.at)) {
        if (at !== -1 && !names.has(identifier)) names.set(identifier, `<id-${`${names.size + 1}`.padStart(3, '0')}>`);
      }
      return [...names].reduce((hidden, [real, name]) => hidden.replaceAll(real, name), text);
    },
    reveal: (text: string) => [...names].reduce((shown, [real, name]) => shown.replaceAll(name, real), text),
  };
}

const UNESCAPED = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" } as const;

/** HTML text as a browser reads it. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: keyof typeof UNESCAPED) => UNESCAPED[name]);
}
