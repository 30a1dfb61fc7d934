import type { z } from 'zod';
import type { Person } from '../../../shared/actor.ts';
import { AppError } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/input-rules.ts';
import { readAnswer } from '../../../shared/keys/input-text.ts';
import { parseInput } from '../../../shared/keys/inputs.ts';
import { type AnyOperation, inputFor } from '../../../shared/operations/entry.ts';
import { allValues, type Form, oneValue } from './form.ts';

// The forms of operations on keys, generated from their entries in the table.

/** The fields of a form: names and schemas of inputs. */
export type FormFields = readonly (readonly [input: string, schema: z.ZodType])[];

/** The fields of an operation's form on the page of a key, with the rules for this kind of person. */
export function formFields(operation: AnyOperation, kind: Person['kind']): FormFields {
  const { identifier: _, ...fields } = inputFor(operation, kind).shape;
  return Object.entries(fields);
}

/** What was sent for an input: the selected value or, if that is `other`, the typed one. Only permissions are repeated. */
export function sentTexts(input: string, schema: z.ZodType, form: Form): readonly string[] {
  const name = formNameOf(input, schema);
  if (factsOf(schema).kind === 'permissions') return allValues(form, name);
  const text = oneValue(form, name);
  return form.has(name) ? [text === 'other' ? oneValue(form, `${name}Other`) : text] : [];
}

/**
 * Reads these fields of a form. Durations such as `90d` count from `nowMs`. Returns the values by the names of the operation's
 * inputs, and a sentence for each invalid field of the form.
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
      values[input] = parseInput(schema, readAnswer(factsOf(schema), sentTexts(input, schema, form), nowMs));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'usage') throw error;
      faults.set(name, error.message);
    }
  }
  return { values, faults };
}
