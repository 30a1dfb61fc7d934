import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';

/** What a command works on: the database of this machine, servers elsewhere, or whichever of the two is meant. */
export type CommandScope = 'box' | 'server' | 'either';

/** The words of a command after the program's name, such as `keys list`. */
export function pathOf(command: Command): string {
  const { parent } = command;
  if (parent === null) return '';
  const path = pathOf(parent);
  return path === '' ? command.name() : `${path} ${command.name()}`;
}

/** What a command works on. `keys check` looks at a secret only, without any database. */
export function scopeOf(command: Command): CommandScope {
  const path = pathOf(command);
  if (/^(login|logout|whoami)$/.test(path)) return 'server';
  return /^(keys (?!check$)|profiles import$)/.test(path) ? 'either' : 'box';
}

/**
 * Throws `refused` where `--host` is given to a command that only works on the box, and `usage` where `--db` is given to one
 * that is about servers: to go on would do something else than what was meant.
 */
export function checkScope(command: Command): void {
  const { db, host } = command.optsWithGlobals<{ db?: string; host?: string }>();
  const place = scopeOf(command);
  const named = `"profilectl ${pathOf(command)}"`;
  if (place === 'box' && host !== undefined) {
    const why =
      pathOf(command) === 'keys check' ? 'asks no server' : 'is for the box only, the machine with the database';
    throw new AppError('refused', `${named} ${why}; it takes no --host.`);
  }
  if (place === 'server' && db !== undefined) {
    throw new AppError('usage', `${named} is about servers; it takes no --db.`);
  }
}
