import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { canAsk } from '../terminal/output.ts';
import { carryOut } from './carry-out.ts';
import { addCommandWithOptionalKey } from './command.ts';
import { walkQueue } from './queue.ts';
import { queueIsOnPage } from './remote/decide.ts';

const operation = OPERATIONS.approve;

/** Adds `keys approve`, which without an identifier goes through the pending requests. */
export function addTo(parent: Command): void {
  const withoutKey = 'without it, go through all pending requests';
  addCommandWithOptionalKey(parent, operation, withoutKey, (context, { identifier, ...args }) => {
    if (identifier !== undefined) return carryOut(context, operation, { identifier, ...args });
    if (context.yes || !canAsk()) {
      throw new AppError(
        'usage',
        'The identifier is missing; to go through all requests, use a terminal and omit --yes.',
      );
    }
    if (context.server !== null) throw queueIsOnPage(context);
    return walkQueue(context, args.given);
  });
}
