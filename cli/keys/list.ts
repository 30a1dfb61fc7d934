import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { isKeyState, KEY_STATES, type KeyState } from '../../shared/keys/key.ts';
import { withContext } from '../context.ts';
import { print, printJson } from '../output.ts';
import { keysText } from './print.ts';

/** `keys list`: pending keys first, oldest first. */
export function addList(parent: Command): void {
  parent
    .command('list')
    .description('List keys, the oldest pending request first.')
    .option('--state <state...>', `only keys in these states: ${KEY_STATES.join(', ')}`)
    .option('--profile <username>', 'only keys of this profile')
    .addHelpText(
      'after',
      '\nExamples:\n  profilectl keys list --state pending\n  profilectl keys list --profile Ada --json',
    )
    .action((options: { state?: string[]; profile?: string }, command: Command) =>
      withContext(command, 'use', async ({ deps, json }) => {
        const { listKeys } = await import('../../shared/keys/view.ts');
        const keys = listKeys(deps, { states: checkStates(options.state ?? []), profile: options.profile });
        if (json) printJson({ keys });
        else print(keysText(keys));
      }),
    );
}

function checkStates(texts: readonly string[]): KeyState[] {
  const unknown = texts.find((text) => !isKeyState(text));
  if (unknown !== undefined) {
    throw new AppError('usage', `--state must be one of ${KEY_STATES.join(', ')} (spelled exactly so).`);
  }
  return texts as KeyState[];
}
