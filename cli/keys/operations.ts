import type { Command } from 'commander';
import { ALL_OPERATIONS } from '../../shared/operations.ts';
import { carryOut } from './carry-out.ts';
import { addCommand } from './command.ts';

/** Adds the commands of all operations that change keys, except those added by other files of this folder. */
export function addTo(parent: Command): void {
  for (const operation of ALL_OPERATIONS) {
    const isAdded = parent.commands.some((other) => other.name() === operation.name);
    if (operation.doors.command === null || operation.event === null || isAdded) continue;
    addCommand(parent, operation, (context, args) => carryOut(context, operation, args));
  }
}
