import { basename } from 'node:path';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';

/**
 * The sentence of an error that says which rule of the product a person has broken (`usage`, `refused`), to be shown beside
 * the form; null for every other error. A `refused` that tells of a file or a disk is for the operator only.
 */
export function ruleSentence({ databasePath }: Pick<Config, 'databasePath'>, error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'usage' && error.code !== 'refused')) return null;
  if (error.details.cause !== undefined || error.message.includes(basename(databasePath))) return null;
  return error.message;
}
