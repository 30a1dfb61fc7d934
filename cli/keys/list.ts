import type { Command } from 'commander';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../shared/keys/fields/input-text.ts';
import { USUAL_PAGE_LENGTH } from '../../shared/keys/fields/inputs.ts';
import { flaggedInputs } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { commandLine } from '../context.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { addCommand, flagName } from './command.ts';
import { keysText } from './print.ts';

const operation = OPERATIONS.list;

/** Adds `keys list`, which lists pending keys first, oldest first. */
export function addTo(parent: Command): void {
  addCommand(parent, operation, async (context, { given }) => {
    const { json, clock, perform } = context;
    const isPage = given.after !== undefined || (process.stdout.isTTY && !json);
    const found = await perform(operation, { ...(isPage && { limit: USUAL_PAGE_LENGTH }), ...given });
    const { keys, lastUses } = found;
    const next = found.next === null ? null : (keys.at(-1)?.identifier ?? null);
    if (json) return printJson({ keys, next });
    print(keysText(keys, clock.nowMs(), lastUses));
    if (next !== null) notice(`\nNext page: ${commandLine('keys list', flagsOf({ ...given, after: next }), context)}`);
  });
}

function flagsOf(given: Readonly<Record<string, unknown>>): string[] {
  return flaggedInputs(operation, 'operator').flatMap(([input, schema]) => {
    const value = given[input];
    return value === undefined ? [] : [flagName(schema), ...typedText(factsOf(schema).kind, value)];
  });
}
