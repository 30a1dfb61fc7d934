import { z } from 'zod';

/** The kinds of form fields and prompts; `input-text.ts` parses and formats the text of each kind. */
export type InputKind =
  | 'line'
  | 'lines'
  | 'url'
  | 'permissions'
  | 'rate limits'
  | 'time'
  | 'number'
  | 'states'
  | 'hidden';

/** The minimum and maximum length of text, in code points. */
export type Bounds = { min: number; max: number };

/** What forms, prompts and commands need to know of an input field besides its schema. */
export type InputFacts = {
  /** The name in error sentences: `The name is missing.` */
  label: string;
  /** The label in forms and at prompts. */
  title: string;
  hint?: string;
  kind: InputKind;
  /** The name in forms and in the URLs of pages, if it differs from the name of the input. */
  formName?: string;
  /** The flag of `profilectl` with its value, and its help text; null if it has no flag. */
  flag: readonly [flag: `--${string}`, about: string] | null;
  /** The description of the query parameter; by default the help text of the flag. */
  inQuery?: string;
  bounds?: Bounds;
  /** The height of the text area. */
  rows?: number;
  /** Whether a time may be `never`. */
  isEndless?: true;
  /** Replaces `title` if the label names the key to replace. */
  titleFor?: (successorOf: string | null) => string;
};

/** The facts of each field. They have their own registry, so that no OpenAPI document shows them. */
export const INPUT_FACTS = z.registry<InputFacts>();

/** Returns the facts of a field, optional or not. Throws if it has none. */
export function factsOf(schema: z.core.$ZodType): InputFacts {
  const facts = INPUT_FACTS.get(schema);
  if (facts !== undefined) return facts;
  if (schema instanceof z.ZodDefault || isNullish(schema)) return factsOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return factsOf(schema.in);
  throw new Error('This schema is not a field of an operation.');
}

/** The schema of a field's values other than null and undefined. */
export function valuesOf(schema: z.core.$ZodType): z.core.$ZodType {
  return isNullish(schema) ? valuesOf(schema.unwrap()) : schema;
}

function isNullish(schema: z.core.$ZodType) {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
}

/** The name of a field in forms and URLs. */
export function formNameOf(name: string, schema: z.core.$ZodType): string {
  return factsOf(schema).formName ?? name;
}

/** Whether a field is text of several lines. Pages show these last, and links can't fill them in. */
export function isLongText(schema: z.core.$ZodType): boolean {
  return factsOf(schema).kind === 'lines';
}

/** The allowed length of text, as a sentence. */
export function boundsInWords({ min, max }: Bounds): string {
  return min > 1 ? `${min} to ${max} characters.` : `Up to ${max} characters.`;
}
