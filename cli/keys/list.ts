import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../shared/keys/fields/input-text.ts';
import { flaggedInputs } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { commandLine } from '../context.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { addCommand, flagName } from './command.ts';
import { keysText } from './print.ts';

const operation = OPERATIONS.list;

/** The number of keys that a terminal shows at a time. */
const PAGE_SIZE = 50;

/** Adds `keys list`, which lists pending keys first, oldest first. */
export function addTo(parent: Command): void {
  addCommand(parent, operation, async (context, { given }) => {
    if (given.unusedForMs !== undefined && given.states !== undefined) {
      throw new AppError('usage', '--unused is about Active keys; leave --state out.');
    }
    const { json, clock, perform } = context;
    const isPage = given.after !== undefined || (process.stdout.isTTY && !json);
    const found = await perform(operation, { ...(isPage && { limit: PAGE_SIZE }), ...given });
    const { keys, lastUses } = found;
    const next = found.next === null ? null : (keys.at(-1)?.identifier ?? null);
    if (json) return printJson({ keys, next });
    print(keysText(keys, clock.nowMs(), lastUses));
    if (next !== null) notice(`\nNext page: ${commandLine('keys list', flagsOf({ ...given, after: next }), context)}`);
  });
}

/** The flags with these values. */
function flagsOf(given: Readonly<Record<string, unknown>>): string[] {
  return flaggedInputs(operation, 'operator').flatMap(([input, schema]) => {
    const value = given[input];
    return value === undefined ? [] : [flagName(schema), ...typedText(factsOf(schema).kind, value)];
  });
}
