import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { canAsk } from '../terminal/output.ts';
import { carryOut } from './carry-out.ts';
import { addCommand } from './command.ts';
import { walkQueue } from './queue.ts';

const operation = OPERATIONS.approve;

/** Adds `keys approve`, which without an identifier goes through the pending requests. */
export function addTo(parent: Command): void {
  addCommand(parent, operation, (context, args) => carryOut(context, operation, args), {
    help: 'without it, go through all pending requests',
    walk: async (context, given) => {
      if (context.yes || !canAsk()) {
        const sentence = 'The identifier is missing; to go through all requests, use a terminal and omit --yes.';
        throw new AppError('usage', sentence);
      }
      await walkQueue(context, given);
    },
  });
}
