import { afterAll, expect } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Db } from '../../shared/db/connect.ts';

// A page as a person reads it, with the states of its fields: one line for each block, indented within forms, lists, tables and
// details. Headings begin with `#`, links are `[text](path)`, fields and buttons stand in brackets, and what else a reader or
// a script is told (roles, names, states) in braces.

const BLOCKS = new Set(
  'address article aside dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 header legend li main'
    .concat(' nav ol p pre section summary table tr ul')
    .split(' '),
);
const INDENTING = new Set(['details', 'dl', 'fieldset', 'form', 'li', 'nav', 'table']);
const SKIPPED = new Set(['script', 'style', 'svg', 'option']);

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
    if (BLOCKS.has(tag)) endLine();
    const isRandom = tag === 'textarea' && RANDOM.includes(attribute('name'));
    if (skipped === 0) line += `${BEFORE[tag] ?? ''}${opening(one)}`;
    if (SKIPPED.has(tag) || isRandom) skipped++;
    if (INDENTING.has(tag)) {
      if (tag !== 'li') endLine();
      depth++;
    }
    if (!canHaveContent) return;
    const closing = tag === 'a' ? `](${attribute('href')})` : tag === 'button' || tag === 'textarea' ? ']' : '';
    one.onEndTag(() => {
      if (SKIPPED.has(tag) || isRandom) skipped--;
      if (skipped === 0) line += closing;
      if (tag === 'td' || tag === 'th') line += ' ';
      if (BLOCKS.has(tag)) endLine();
      if (INDENTING.has(tag)) depth--;
    });
  };
  const text = ({ text: words }: { text: string }) => {
    if (skipped === 0) line += unescaped(words);
  };
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
type Button = { text: string; pairs: Pair[] };
type PageForm = { id: string; action: string; fields: Pair[]; buttons: Button[] };

/** The forms of a page, with what each would send. */
function formsOn(page: string): PageForm[] {
  const forms: PageForm[] = [];
  let current: PageForm | undefined;
  let [text, chosenFor] = ['', ''];
  const attribute = (one: HTMLRewriterTypes.Element, name: string) => unescaped(one.getAttribute(name) ?? '');
  // Buttons may stand outside of their form.
  const formOf = (one: HTMLRewriterTypes.Element) =>
    one.hasAttribute('form') ? forms.find(({ id }) => id === attribute(one, 'form')) : current;
  const isLeftOut = (one: HTMLRewriterTypes.Element) =>
    ['checkbox', 'radio'].includes(attribute(one, 'type')) && !one.hasAttribute('checked');
  const take = (part: { text: string }) => {
    text += unescaped(part.text);
  };
  const withText = (act: (one: HTMLRewriterTypes.Element, text: () => string) => void) => ({
    element: (one: HTMLRewriterTypes.Element) => {
      text = '';
      act(one, () => text);
    },
    text: take,
  });
  new HTMLRewriter()
    .on('form', {
      element: (one) => {
        current = { id: attribute(one, 'id'), action: attribute(one, 'action'), fields: [], buttons: [] };
        forms.push(current);
        one.onEndTag(() => {
          current = undefined;
        });
      },
    })
    .on('input', {
      element: (one) => {
        if (!isLeftOut(one)) formOf(one)?.fields.push([attribute(one, 'name'), attribute(one, 'value')]);
      },
    })
    .on('select', {
      element: (one) => {
        chosenFor = attribute(one, 'name');
      },
    })
    .on('option[selected]', {
      element: (one) => void current?.fields.push([chosenFor, attribute(one, 'value')]),
    })
    .on(
      'textarea',
      withText((one, typed) => {
        const [form, name] = [formOf(one), attribute(one, 'name')];
        one.onEndTag(() => void form?.fields.push([name, typed().replace(/^\n/, '')]));
      }),
    )
    .on(
      'button',
      withText((one, said) => {
        const form = formOf(one);
        const pairs: Pair[] = one.hasAttribute('name') ? [[attribute(one, 'name'), attribute(one, 'value')]] : [];
        one.onEndTag(() => void form?.buttons.push({ text: said().replace(/\s+/g, ' ').trim(), pairs }));
      }),
    )
    .transform(page);
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
