import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { canAsk } from '../terminal/output.ts';
import { carryOut } from './carry-out.ts';
import { addCommandOfAnyKey } from './command.ts';
import { walkQueue } from './queue.ts';
import { queueElsewhere } from './remote/decide.ts';

const operation = OPERATIONS.approve;

/** Adds `keys approve`, which without an identifier asks about each pending request. */
export function addTo(parent: Command): void {
  const withoutKey = 'without it every pending request is shown in turn';
  addCommandOfAnyKey(parent, operation, withoutKey, (context, { identifier, ...asked }) => {
    if (identifier !== undefined) return carryOut(context, operation, { identifier, ...asked });
    if (context.yes || !canAsk()) {
      throw new AppError('usage', 'The identifier is missing: only on a terminal, without --yes, the queue is shown.');
    }
    if (context.server !== null) throw queueElsewhere(context);
    return walkQueue(context, asked.given);
  });
}
