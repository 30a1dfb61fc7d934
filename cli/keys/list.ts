import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { print, printJson } from '../output.ts';
import { addCommand } from './command.ts';
import { keysText } from './print.ts';

/** Adds `keys list`, which lists pending keys first, and the oldest first. */
export function addTo(parent: Command): void {
  addCommand(parent, OPERATIONS.list, async ({ perform, clock, json }, { given }) => {
    if (given.unusedForMs !== undefined && given.states !== undefined) {
      throw new AppError('usage', '--unused is about Active keys; leave --state out.');
    }
    const { keys, lastUses } = await perform(OPERATIONS.list, given);
    if (json) printJson({ keys });
    else print(keysText(keys, clock.nowMs(), lastUses));
  });
}
