import type { z } from 'zod';
import { AppError } from '../../errors.ts';

/** What a door has read, as its schema says it: checked and trimmed. Throws `usage` with the first thing that is wrong. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError('usage', result.error.issues[0]?.message ?? 'The input is wrong.');
}

/** Everything that {@link parseInput} finds wrong with an input: a sentence for each field, by its name, in their order. */
export function faultsIn(schema: z.ZodObject, input: unknown): Map<string, string> {
  const faults = new Map<string, string>();
  for (const { path, message } of schema.safeParse(input).error?.issues ?? []) {
    const name = String(path[0]);
    if (!faults.has(name)) faults.set(name, message);
  }
  return faults;
}

/** What is wrong with the value of one field, as a sentence; null where nothing is. */
export function faultOfInput(schema: z.ZodType, value: unknown): string | null {
  return schema.safeParse(value).error?.issues[0]?.message ?? null;
}
