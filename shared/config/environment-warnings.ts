import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { looseMode } from '../file-mode.ts';
import { DOT_ENV, type Environment, isDotEnvRead } from './environment.ts';
import { nameWarnings } from './variable-names.ts';

/**
 * Warnings about likely mistakes: a file of variables that others can read, a `.env` that is not read, unknown names. They name
 * files and variables, but never contain a value.
 */
export function environmentWarnings({ source, given, dotFiles }: Environment): string[] {
  const files = [...(given === null ? [] : [given]), ...dotFiles];
  const loose = files.flatMap(({ path }) => looseMode(path) ?? []);
  const isUnread = !isDotEnvRead() && existsSync(DOT_ENV) && resolve(given?.path ?? '') !== resolve(DOT_ENV);
  const unread = `The file ${resolve(DOT_ENV)} is not read; --env-file ${DOT_ENV} reads it.`;
  return [...loose, ...(isUnread ? [unread] : []), ...nameWarnings(source, files)];
}
