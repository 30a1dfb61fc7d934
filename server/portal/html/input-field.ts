import type { z } from 'zod';
import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { factsOf, formNameOf } from '../../../shared/keys/input-rules.ts';
import type { Html } from '../../html.ts';
import { checkboxes, type Faults, hiddenField, type Option, radios, textArea, textField } from './fields.ts';
import { PERMISSION_WORDS } from './key-facts.ts';

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
  if (state.choices) return radios({ ...parts, options: state.choices, otherHint: facts.hint ?? '' });
  if (kind === 'hidden') return hiddenField(name, value);
  if (kind === 'permissions') return checkboxes({ ...parts, values: texts, options: PERMISSION_OPTIONS });
  if (kind === 'lines') return textArea({ ...parts, rows });
  return textField({
    ...parts,
    ...(kind === 'url' && { type: 'url' as const }),
  });
}

const PERMISSION_OPTIONS = PERMISSIONS.map((value) => ({ value, label: PERMISSION_WORDS[value], hint: value }));
