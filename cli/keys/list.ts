import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../shared/keys/fields/input-text.ts';
import { flaggedInputs } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import type { Globals } from '../context.ts';
import { notice, print, printJson } from '../terminal/output.ts';
import { quoted } from '../terminal/words.ts';
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
    if (next !== null) notice(`\nNext page: ${commandAfter(context, given, next)}`);
  });
}

/** The command that lists the next page, with the same filters. */
function commandAfter({ db, host }: Globals, given: Readonly<Record<string, unknown>>, after: string): string {
  const flags = flaggedInputs(operation, 'operator').flatMap(([input, schema]) => {
    const value = input === 'after' ? after : given[input];
    return value === undefined ? [] : [flagName(schema), ...typedText(factsOf(schema).kind, value)];
  });
  const target = [...(db === undefined ? [] : ['--db', db]), ...(host === undefined ? [] : ['--host', host])];
  return ['profilectl keys list', ...[...flags, ...target].map(quoted)].join(' ');
}
