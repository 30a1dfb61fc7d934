import { z } from 'zod';
import type { KeyState } from '../../db/key-columns.ts';

/** The kind of a form field or prompt: `input-text.ts` parses and formats the text of each kind. */
export type InputKind =
  | 'line'
  | 'lines'
  | 'address'
  | 'permissions'
  | 'rate limits'
  | 'time'
  | 'span'
  | 'number'
  | 'states'
  | 'hidden';

/** The minimum and maximum length of a text, in code points. */
export type Bounds = { least: number; most: number };

/** What forms, prompts and commands need to know of an input field besides its schema. */
export type InputFacts = {
  /** Its name within sentences: `The name is missing.` */
  label: string;
  /** Its label in a form and at a prompt. */
  title: string;
  /** The hint that is shown there. */
  hint?: string;
  kind: InputKind;
  /** Its name in forms and in the addresses of pages, if it differs from the name of the input. */
  formName?: string;
  /** The flag of `profilectl` with its value, and its help text; null if it has no flag. */
  flag: readonly [flag: `--${string}`, about: string] | null;
  /** What it means as a parameter of a query, if its flag does not say that. */
  inQuery?: string;
  bounds?: Bounds;
  /** The rows of its text area. */
  rows?: number;
  /** Whether a time may be `never`; another one may be left as it is. */
  isEndless?: true;
  /** If it is the identifier of a key: the states that the key must have. */
  statesOfKey?: readonly KeyState[];
  /** Its label for a key, if that names the key that it succeeds. */
  titleFor?: (successorOf: string | null) => string;
};

/** The facts of each field, in a registry of their own so that no OpenAPI document shows them. */
export const INPUT_FACTS = z.registry<InputFacts>();

/** The facts of a field, optional or not. Throws if it has none. */
export function factsOf(schema: z.core.$ZodType): InputFacts {
  const facts = INPUT_FACTS.get(schema);
  if (facts !== undefined) return facts;
  if (schema instanceof z.ZodDefault || isNullish(schema)) return factsOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return factsOf(schema.in);
  throw new Error('This schema is no field of an operation.');
}

/** The schema of the values of a field that may be null or left out. */
export function valuesOf(schema: z.core.$ZodType): z.core.$ZodType {
  return isNullish(schema) ? valuesOf(schema.unwrap()) : schema;
}

function isNullish(schema: z.core.$ZodType) {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable;
}

/** The name of a field in forms and addresses. */
export function formNameOf(name: string, schema: z.core.$ZodType): string {
  return factsOf(schema).formName ?? name;
}

/** Whether a field is a text of several lines: pages ask for it last, and no link fills it in. */
export function isLongText(schema: z.core.$ZodType): boolean {
  return factsOf(schema).kind === 'lines';
}

/** The allowed length of a text, as a sentence. */
export function boundsInWords({ least, most }: Bounds): string {
  return least > 1 ? `${least} to ${most} characters.` : `Up to ${most} characters.`;
}
