import type { z } from 'zod';
import { AppError } from '../../errors.ts';

/** Parses an input by its schema. Throws `usage` with the first error. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError('usage', result.error.issues[0]?.message ?? 'The input is wrong.');
}

/** All errors of an input: one sentence for each invalid field, by its name, in the order of the fields. */
export function faultsIn(schema: z.ZodObject, input: unknown): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, message } of schema.safeParse(input).error?.issues ?? []) {
    const name = String(path[0]);
    if (!faults.has(name)) faults.set(name, message);
  }
  return faults;
}

/** The error of the value of one field, as a sentence, or null. */
export function faultOfInput(schema: z.ZodType, value: unknown): string | null {
  return schema.safeParse(value).error?.issues[0]?.message ?? null;
}
