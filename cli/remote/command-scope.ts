import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';

/** Where a command works: on the local database (`box`), on a server, or on either of them. */
export type CommandScope = 'box' | 'server' | 'either';

/** The words of a command after the program's name, such as `keys list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  if (parent === null) return '';
  const path = pathOf(parent);
  return path === '' ? command.name() : `${path} ${command.name()}`;
}

/** The scope of a command. */
export function scopeOf(command: Command): CommandScope {
  const path = pathOf(command);
  if (/^(login|logout|whoami)$/.test(path)) return 'server';
  return /^(keys |profiles import$)/.test(path) ? 'either' : 'box';
}

/**
 * Throws `refused` if `--host` is given to a command that works only on the server itself, and `usage` if `--db` is given to
 * one that always uses a server: ignoring the flag would do something that the user did not mean.
 */
export function checkScope(command: Command): void {
  const { db, host } = command.optsWithGlobals<{ db?: string; host?: string }>();
  const scope = scopeOf(command);
  const named = `"profilectl ${pathOf(command)}"`;
  if (scope === 'box' && host !== undefined) {
    throw new AppError('refused', `${named} works only on the server itself; it does not support --host.`);
  }
  if (scope === 'server' && db !== undefined) {
    throw new AppError('usage', `${named} always uses a server; it does not support --db.`);
  }
}
