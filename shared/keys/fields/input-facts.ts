import { z } from 'zod';

/** How a field is typed and shown: `input-text.ts` reads and writes the text of each kind. */
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

/** How long a text may be, in code points. */
export type Bounds = { least: number; most: number };

/** What doors know of a field of an operation's input beside its schema. */
export type InputFacts = {
  /** What it is called within sentences: `The name is missing.` */
  label: string;
  /** What it is called above a field of a form, and at a prompt. */
  title: string;
  /** What is to be said of it there. */
  hint?: string;
  kind: InputKind;
  /** Its name in forms and in the addresses of pages, where that is another than the name of the input. */
  formName?: string;
  /** The flag of `profilectl` with its value, and what help says of it; null where it has none. */
  flag: readonly [flag: `--${string}`, about: string] | null;
  bounds?: Bounds;
  /** How many lines of a text a form shows. */
  rows?: number;
  /** Whether a time may be `never`. */
  isEndless?: true;
};

/** The facts of each field. In a registry of their own, so that no OpenAPI document shows them. */
export const INPUT_FACTS = z.registry<InputFacts>();

/** The facts of a field, also where it may be left out. Throws where it has none. */
export function factsOf(schema: z.core.$ZodType): InputFacts {
  const facts = INPUT_FACTS.get(schema);
  if (facts !== undefined) return facts;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return factsOf(schema.unwrap());
  if (schema instanceof z.ZodPipe) return factsOf(schema.in);
  throw new Error('This schema is no field of an operation.');
}

/** The name of a field in forms and addresses. */
export function formNameOf(name: string, schema: z.core.$ZodType): string {
  return factsOf(schema).formName ?? name;
}

/** How long a text may be, as a sentence. */
export function boundsInWords({ least, most }: Bounds): string {
  return least > 1 ? `${least} to ${most} characters.` : `Up to ${most} characters.`;
}
