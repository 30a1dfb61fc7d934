import type { z } from 'zod';
import { PERMISSIONS } from '../../../shared/db/schema.ts';
import { type Bounds, factsOf, formNameOf, type InputKind } from '../../../shared/keys/inputs.ts';
import { parseRateLimit, windowWords } from '../../../shared/limits/rate-limit.ts';
import { numberText } from '../../../shared/text.ts';
import { type Html, html, raw } from '../../html.ts';
import { PERMISSION_WORDS } from './key-facts.ts';
import { pageSentence } from './time.ts';

// The parts of forms. Rules are shown as hints and enforced by the server alone: the browser's own validation is off
// (novalidate), because it counts differently (maxlength counts UTF-16 code units) and its messages are not accessible to all.

/** Error messages by the names of fields; an empty name is for the whole form. */
export type Faults = ReadonlyMap<string, string>;

/** The errors of a form that has not been sent yet: none. */
export const NO_FAULTS: Faults = new Map();

/** What every field has; `id` if its name is not unique on the page. */
type FieldParts = {
  name: string;
  id?: string | undefined;
  label: string;
  hint?: string | Html | undefined;
  /** What follows the input, so that the tab key leads from the label's text into the field. */
  more?: Html | undefined;
  faults: Faults;
  /** Whether it has autofocus: for the first field of a page that consists of its form. */
  isFirst?: boolean | undefined;
  bounds?: Bounds | undefined;
};

/** A field of one line. */
type TextField = FieldParts & {
  value: string;
  /** As in HTML: `one-time-code`, `email`, `username`, `off`. */
  autocomplete?: string;
  inputmode?: string;
  type?: 'text' | 'email' | 'url' | 'number' | 'datetime-local' | 'date';
  size?: 'code';
};

/** The list of errors with a link to each field; it gets the focus, at the top of `<main>`. Empty without errors. */
export function errorSummary(faults: Faults): Html {
  if (faults.size === 0) return html``;
  const items = [...faults].map(([name, sentence]) => {
    const said = pageSentence(sentence);
    return name === '' ? html`<li>${said}</li>` : html`<li><a href="#${name}">${said}</a></li>`;
  });
  return html`<div class="summary" role="alert" tabindex="-1" autofocus><h2>There is a problem</h2><ul>${items}</ul></div>`;
}

/** The button that sends a form. `cancel` is the URL of a link beside it. */
export type Button = string | { text: string; isDangerous?: boolean; isSecond?: boolean; cancel?: string };

/** The last line of a form: its button, red if dangerous, and the link to cancel. */
export function buttonLine(button: Button): Html {
  const {
    text,
    isDangerous = false,
    isSecond = false,
    cancel,
  } = typeof button === 'string' ? { text: button } : button;
  const cancelLink = cancel === undefined ? '' : html`<a class="button bare" href="${cancel}">Cancel</a>`;
  return html`<p class="buttons"><button${buttonLook({ isDangerous, isSecond })}>${text}</button>${cancelLink}</p>`;
}

/** The class of a button: plain if it is a second one or only leads somewhere, and red if it ends or refuses something. */
export function buttonLook({ isSecond = false, isDangerous = false }): Html {
  return raw(isSecond ? '' : ` class="${isDangerous ? 'danger' : 'filled'}"`);
}

/** A form that is posted to a path, which includes that of PUBLIC_URL. */
export function formTo(action: string, button: Button, ...parts: readonly Html[]): Html {
  return html`<form class="stack" method="post" action="${action}" novalidate>${parts}${buttonLine(button)}</form>`;
}

/**
 * Enter on a field, such as a checkbox, presses the first button of its form. This one, at the beginning of a form that decides,
 * closes a dialog that is not there, so nothing is sent.
 */
export const NO_ENTER = html`<button hidden formmethod="dialog"></button>`;

/** A hidden field; never for anything on which permissions depend. */
export function hiddenField(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** A one-line field with its label, hint and error. */
export function textField(field: TextField): Html {
  const { name, id = name, value, type = 'text', autocomplete = 'off', inputmode, size, isFirst } = field;
  const more = `${isFirst ? ' autofocus' : ''}${inputmode ? ` inputmode="${inputmode}"` : ''}${size ? ` class="${size}"` : ''}`;
  return around(
    field,
    html`<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false"${raw(more)}${described(field)}>`,
  );
}

/** A field for several lines. */
export function textArea(field: FieldParts & { value: string; rows: number }): Html {
  const { name, id = name, value, rows, isFirst } = field;
  // The first line feed in a textarea is not part of its value.
  return around(
    field,
    html`<textarea id="${id}" name="${name}" rows="${rows}"${raw(isFirst ? ' autofocus' : '')}${described(field)}>\n${value}</textarea>`,
  );
}

/** A value that a field offers. */
export type Option = { value: string; label: string | Html; hint?: string };

/** A group of check boxes; the first has the field's id, the target of links to the field. */
function checkboxes(field: FieldParts & { values: readonly string[]; options: readonly Option[] }): Html {
  const { name, id: first = name, label, options, values } = field;
  const items = options.map(({ value, label: text, hint }, index) => {
    const id = index === 0 ? first : `${first}-${index}`;
    const isChecked = values.includes(value);
    return html`<label class="choice"><input id="${id}" name="${name}" type="checkbox" value="${value}"${raw(isChecked ? ' checked' : '')}><span>${text}${hint ? html` <small>${hint}</small>` : ''}</span></label>`;
  });
  return html`<fieldset class="field"${described(field)}><legend>${label}</legend>${notes(field)}${items}</fieldset>`;
}

type Radios = FieldParts & { value: string; options: readonly Option[]; kind: InputKind; otherHint: string };

/**
 * A group of radio buttons, the last of which, `other`, shows a field for typing another value, or fields for other limits. What
 * is typed is sent under the name with `Other` appended.
 */
function radios(field: Radios): Html {
  const { name, id: first = name, label, value, options, kind, otherHint } = field;
  const isOther = options.every((option) => option.value !== value);
  const choice = (id: string, sent: string, text: string | Html, isChecked: boolean) =>
    html`<label class="choice"><input id="${id}" name="${name}" type="radio" value="${sent}"${raw(isChecked ? ' checked' : '')}><span>${text}</span></label>`;
  // The id, the target of links to the field, belongs to the first option or, if `other` is selected, to what is typed there.
  const items = options.map((option, at) =>
    choice(at === 0 && !isOther ? first : `${first}-${at}`, option.value, option.label, option.value === value),
  );
  const typed = isOther ? first : `${first}-typed`;
  return html`<fieldset class="field"${described(field)}><legend>${label}</legend>${notes(field)}<div>${items}${choice(`${first}-other`, 'other', 'other', isOther)}</div>
<div class="typed">${kind === 'rate limits' ? limitLines(field) : html`<p class="soft" id="${typed}-how">${otherHint}</p><input id="${typed}" name="${name}Other" aria-label="${label}: other" aria-describedby="${typed}-how" value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false">`}</div></fieldset>`;
}

/** A line for each limit with its number and its span, and an empty line after a single limit. Spans are `1m` and so on. */
function limitLines({ name, id = name, value, options, faults }: Radios): Html {
  const limitsIn = (text: string) => text.split(' ').map((limit) => limit.split(/\/(?=[^/]*$)/));
  const own = options.flatMap((one) => limitsIn(one.value)).map(([, span = '']) => span);
  const limits = limitsIn(value);
  const lines = (limits.length > 1 ? limits : [...limits, ['', '1d']]).map(([count = '', chosen], at) => {
    const number = { name: `${id}-count-${at}`, label: `Limit ${at + 1}: requests`, faults };
    const span = { name: `${id}-span-${at}`, label: `Limit ${at + 1}: span`, faults };
    const units = [...new Set(['1s', '1m', '1h', '1d', ...own])].map((one) => {
      const words = windowWords(parseRateLimit(`1/${one}`).windowSeconds);
      return html`<option value="${one}"${raw(one === chosen ? ' selected' : '')}>${words}</option>`;
    });
    return html`<div class="limit"><input id="${number.name}" name="${name}Other" aria-label="${number.label}" value="${count}" inputmode="numeric" autocomplete="off"${described(number)}><span>per</span><select id="${span.name}" name="${name}Span" aria-label="${span.label}"${described(span)}>${units}</select></div>${notes(number)}${notes(span)}`;
  });
  return html`${lines}`;
}

function around(field: FieldParts, input: Html): Html {
  const { name, id = name, label, more } = field;
  return html`<div class="field"><label for="${id}">${label}</label>${notes(field)}${input}${more ?? ''}</div>`;
}

/** The hint and the error, between label and input, so that both are seen or heard before typing. */
function notes({ name, id = name, hint, faults, bounds }: FieldParts): Html {
  const fault = faults.get(name);
  const said = [
    ...(hint === undefined ? [] : [hint]),
    ...(areBoundsShown(bounds) ? [`${bounds.min} to ${numberText(bounds.max)} characters.`] : []),
  ];
  const text = said.length === 0 ? '' : html`<p class="soft" id="${id}-hint">${said.map((one) => html`${one} `)}</p>`;
  return html`${text}${fault === undefined ? '' : html`<p class="bad" id="${id}-fault"><span class="unseen">Error: </span>${pageSentence(fault)}</p>`}`;
}

/** Whether to show the bounds up front: only with a real minimum. Few texts come near the maximum, where a script warns. */
function areBoundsShown(bounds: Bounds | undefined): bounds is Bounds {
  return bounds !== undefined && bounds.min > 1;
}

function described({ name, id = name, hint, faults, bounds }: FieldParts): Html {
  const ids = [
    ...(hint === undefined && !areBoundsShown(bounds) ? [] : [`${id}-hint`]),
    ...(faults.has(name) ? [`${id}-fault`] : []),
  ];
  const wrong = faults.has(name) ? ' aria-invalid="true"' : '';
  const counts = bounds === undefined ? '' : ` data-min="${bounds.min}" data-max="${bounds.max}"`;
  return raw(`${counts}${wrong}${ids.length === 0 ? '' : ` aria-describedby="${ids.join(' ')}"`}`);
}

/** The state of a field on a page: its content, and what differs from the defaults of its input. */
export type FieldState = {
  texts: readonly string[];
  id?: string | undefined;
  title?: string | undefined;
  /** Null for none. */
  hint?: string | Html | null | undefined;
  choices?: readonly Option[] | undefined;
  more?: Html;
  faults: Faults;
  isFirst?: boolean;
};

/** The form field for an input of an operation. */
export function inputField(input: string, schema: z.ZodType, state: FieldState): Html {
  const facts = factsOf(schema);
  const { kind, rows = 3, bounds } = facts;
  const { texts, id, faults, more, isFirst } = state;
  const isOptionalText = bounds !== undefined && schema.safeParse(null).success;
  const name = formNameOf(input, schema);
  const label = state.title ?? `${facts.title}${isOptionalText ? ' (optional)' : ''}`;
  const hint = state.hint === undefined ? facts.hint : (state.hint ?? undefined);
  const value = texts[0] ?? '';
  const parts = { name, id, label, hint, bounds, more, isFirst, value, faults };
  if (state.choices)
    return radios({ ...parts, value: texts.join(' '), options: state.choices, kind, otherHint: facts.hint ?? '' });
  if (kind === 'hidden') return hiddenField(name, value);
  if (kind === 'permissions') return checkboxes({ ...parts, values: texts, options: PERMISSION_OPTIONS });
  if (kind === 'lines') return textArea({ ...parts, rows });
  return textField({
    ...parts,
    ...(kind === 'url' && { type: 'url' as const }),
  });
}

const PERMISSION_OPTIONS = PERMISSIONS.map((value) => ({ value, label: PERMISSION_WORDS[value], hint: value }));
