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

const UNESCAPED = { amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'" } as const;

/** HTML text as a browser reads it. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#x27);/g, (_, name: keyof typeof UNESCAPED) => UNESCAPED[name]);
}
