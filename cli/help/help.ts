import type { Command } from 'commander';
import { AppError } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { writeOutput } from '../terminal/stdout.ts';
import { variablesHelp } from './variables-help.ts';

/** Adds `help`, which prints the `--help` of a command, or the table of variables. */
export function addTo(command: Command): void {
  command
    .argument('[words...]', 'a command, such as "keys approve", or "environment"')
    .addHelpText(
      'after',
      '\nExamples:\n  profilectl help keys approve\n  profilectl help environment   # all variables, with their meanings and defaults',
    )
    .action((words: string[]) => {
      if (words.join() === 'environment') return writeOutput(`${variablesHelp()}\n`);
      findCommand(command.parent as Command, words).outputHelp();
    });
}

/** Throws `usage` if the words name no command. */
function findCommand(program: Command, words: readonly string[]): Command {
  let found = program;
  for (const word of words) {
    const next = found.commands.find((child) => child.name() === word);
    if (next === undefined) {
      const named = cleanForTerminal(words.join(' '));
      throw new AppError('usage', `There is no command "${named}"; see profilectl --help.`);
    }
    found = next;
  }
  return found;
}
