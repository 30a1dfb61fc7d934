import type { Command } from 'commander';
import { KEY_STATES, type KeyState } from '../../shared/db/key-columns.ts';
import { AppError } from '../../shared/errors.ts';
import { parseSpan } from '../../shared/keys/expiry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { print, printJson } from '../output.ts';
import { keysText } from './print.ts';
import { withKeys } from './with-keys.ts';

/** Adds `keys list`, which lists pending keys first, and the oldest first. */
export function addTo(parent: Command): void {
  parent
    .command('list')
    .description(OPERATIONS.list.summary)
    .option('--state <state...>', `only keys in these states: ${KEY_STATES.join(', ')}`)
    .option('--profile <username>', 'only keys of this profile')
    .option('--unused <span>', 'only Active keys that were not used for so long, such as 90d')
    .addHelpText(
      'after',
      `
A key that was never used counts from its approval. The server writes down what was used every ten seconds.

Examples:
  profilectl keys list --state pending
  profilectl keys list --unused 90d
  profilectl keys list --profile Ada --json`,
    )
    .action((options: Options, command: Command) =>
      withKeys(command, async ({ perform, clock, json }) => {
        const { state, profile, unused } = options;
        const unusedForMs = unused === undefined ? undefined : parseUnused(unused, state);
        const input = { states: state?.map(stateNamed), profile, unusedForMs };
        const { keys, lastUses } = await perform(OPERATIONS.list, input);
        if (json) printJson({ keys });
        else print(keysText(keys, clock.nowMs(), lastUses));
      }),
    );
}

type Options = { state?: string[]; profile?: string; unused?: string };

/** The state with this name in upper or lower case. Returns an unknown name as it is, and the operation refuses it. */
function stateNamed(text: string): KeyState {
  return KEY_STATES.find((state) => state.toLowerCase() === text.toLowerCase()) ?? (text as KeyState);
}

/** Milliseconds. */
function parseUnused(span: string, states: readonly string[] | undefined): number {
  if (states !== undefined) throw new AppError('usage', '--unused is about Active keys; leave --state out.');
  const spanMs = parseSpan(span);
  if (spanMs === null) throw new AppError('usage', '--unused must be a span such as 90d or 12h.');
  return spanMs;
}
