import type { Command } from 'commander';
import { AppError } from '../shared/errors.ts';
import { cleanForTerminal } from '../shared/text.ts';

/** `help`: what `--help` prints for a command of any depth */
export function addTo(command: Command): void {
  command
    .argument('[words...]', 'a command, such as "keys approve"')
    .addHelpText('after', '\nExample:\n  profilectl help keys approve')
    .action((words: string[]) => {
      findCommand(command.parent as Command, words).outputHelp();
    });
}

/** The command that the words lead to from the program. Throws `usage` where there is none. */
function findCommand(program: Command, words: readonly string[]): Command {
  let found = program;
  for (const word of words) {
    const next = found.commands.find((child) => child.name() === word);
    if (next === undefined) {
      const named = cleanForTerminal(words.join(' '));
      throw new AppError('usage', `There is no command "${named}" to explain; see profilectl --help.`);
    }
    found = next;
  }
  return found;
}
