import { unescaped } from './pages.ts';

// Forms of a page as a browser reads and sends them.

type Pair = [name: string, value: string];
type Button = { text: string; pairs: Pair[] };
type PageForm = { id: string; action: string; fields: Pair[]; buttons: Button[] };

/** The forms of a page, with what each would send. */
function formsOn(page: string): PageForm[] {
  const forms: PageForm[] = [];
  let current: PageForm | undefined;
  let text = '';
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
    .on('option[selected]', {
      element: (one) => void current?.fields.push(['', attribute(one, 'value')]),
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
