import type { z } from 'zod';
import type { Person } from '../../../shared/actor.ts';
import { AppError } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { readAnswer } from '../../../shared/keys/fields/input-text.ts';
import { parseInput } from '../../../shared/keys/fields/parse-input.ts';
import { type AnyOperation, inputFor } from '../../../shared/operations/entry.ts';
import { allValues, type FieldKinds, type Form, oneValue } from './form.ts';

// The forms of operations on keys, by their entries in the table.

/** The fields of a form: names and schemas of inputs. */
export type FormFields = readonly (readonly [input: string, schema: z.ZodType])[];

/** The fields of an operation's form on the page of a key, as a kind of person has to fill them in. */
export function formFields(operation: AnyOperation, kind: Person['kind']): FormFields {
  const { identifier: _, ...fields } = inputFor(operation, kind).shape;
  return Object.entries(fields);
}

/** How often each of these fields may come; those of which a page offers some answers may bring another one beside them. */
export function fieldKindsOf(fields: FormFields): FieldKinds {
  return Object.fromEntries(
    fields.flatMap(([input, schema]): [string, 'one' | 'many'][] => {
      const name = formNameOf(input, schema);
      const { kind } = factsOf(schema);
      const others: [string, 'one'][] = kind === 'rate limits' || kind === 'time' ? [[`${name}Other`, 'one']] : [];
      return [[name, kind === 'permissions' ? 'many' : 'one'], ...others];
    }),
  );
}

/** What was sent for a field: the answer that was chosen, or where that is `other` the one that was typed. */
export function sentTexts(form: Form, name: string): readonly string[] {
  const texts = allValues(form, name);
  return texts[0] === 'other' ? [oneValue(form, `${name}Other`)] : texts;
}

/**
 * Reads these fields of a form. Spans such as `90d` count from `nowMs`. Returns the values by the names of the operation's
 * inputs, and what is wrong with them, a sentence for each field of the form.
 */
export function readFields(
  fields: FormFields,
  form: Form,
  nowMs: number,
): { values: Record<string, unknown>; faults: Map<string, string> } {
  const values: Record<string, unknown> = {};
  const faults = new Map<string, string>();
  for (const [input, schema] of fields) {
    const name = formNameOf(input, schema);
    try {
      values[input] = parseInput(schema, readAnswer(factsOf(schema), sentTexts(form, name), nowMs));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'usage') throw error;
      faults.set(name, error.message);
    }
  }
  return { values, faults };
}
