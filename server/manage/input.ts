import type { z } from 'zod';
import { AppError, type ErrorCode } from '../../shared/errors.ts';
import { queryOf, queryParameters } from '../http/parameters.ts';

/** Reads an input by its schema. Throws `code` with the sentence of the first error. */
export function readInput<Schema extends z.ZodType>(schema: Schema, sent: unknown, code: ErrorCode): z.output<Schema> {
  const read = schema.safeParse(sent);
  if (read.success) return read.data;
  throw new AppError(code, read.error.issues[0]?.message ?? 'The input is invalid.');
}

/** Reads the query of a request by its schema. Throws `bad_parameter`, also for unknown parameters. */
export function readQuery<Schema extends z.ZodObject>(schema: Schema, request: Request): z.output<Schema> {
  const parameters = queryParameters(queryOf(request), Object.keys(schema.shape));
  return readInput(schema, Object.fromEntries(parameters), 'bad_parameter');
}
