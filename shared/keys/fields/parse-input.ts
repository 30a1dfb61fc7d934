import type { z } from 'zod';
import { AppError } from '../../errors.ts';

/** Parses an input by its schema. Throws `usage` with the first error. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  throw new AppError('usage', result.error.issues[0]?.message ?? 'The input is invalid.');
}
