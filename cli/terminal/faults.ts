import { type Command, CommanderError } from 'commander';
import { AppError, exitCodeOf } from '../../shared/errors.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { OutputFault } from './stdout.ts';

/** The error that ends a command: exit code, one sentence, and a stack trace without messages (empty unless debugging). */
export type Fault = { code: number; sentence: string; trace: string[] };

/**
 * Describes anything that was thrown. Messages of libraries are never shown. `words` are the arguments as typed. With
 * `isDebugging`, an unexpected error includes its stack trace.
 */
export function describeFault(error: unknown, program: Command, words: readonly string[], isDebugging: boolean): Fault {
  if (error instanceof AppError) return { code: exitCodeOf(error.code), sentence: error.message, trace: [] };
  if (error instanceof OutputFault) return { code: exitCodeOf('refused'), sentence: error.message, trace: [] };
  if (error instanceof CommanderError) {
    const sentence = usageSentence(error, commandPath(program, words));
    return { code: exitCodeOf('usage'), sentence, trace: [] };
  }
  const kind = error instanceof Error ? error.name : typeof error;
  const sentence = `Something went wrong inside profilectl (${kind}); this is a bug.`;
  const code = exitCodeOf('internal');
  if (isDebugging) return { code, sentence, trace: traceOf(error) };
  return { code, sentence: `${sentence} LOG_LEVEL=debug shows where it happened.`, trace: [] };
}

/** A sentence with advice for a usage error of Commander. `path` is the command, such as `profilectl keys`. */
function usageSentence(error: CommanderError, path: string): string {
  const [, text = '', suggestion = ''] = /^(?:error: )?(.*?)(?:\n\(Did you mean (.*)\?\))?$/s.exec(error.message) ?? [];
  const named = cleanForTerminal(/'(.*)'/s.exec(text)?.[1] ?? '');
  const see = `${path} --help.`;
  const advice = suggestion === '' ? `; see ${see}` : `; did you mean ${suggestion}? See ${see}`;
  switch (error.code) {
    case 'commander.help':
      return `A command is missing; see ${see}`;
    case 'commander.unknownCommand':
      return `There is no command "${named}"${advice}`;
    case 'commander.unknownOption':
      return `There is no option ${named}${advice}`;
    case 'commander.missingArgument':
      return `The argument <${named}> is missing; see ${see}`;
    case 'commander.optionMissingArgument':
      return `The option ${named} needs a value; see ${see}`;
    case 'commander.excessArguments':
      // The sentence does not repeat the arguments, because one may be a secret.
      return `Too many arguments (${/Expected (\d+)/.exec(text)?.[1]} expected); see ${see}`;
    default:
      return `${cleanForTerminal(text.charAt(0).toUpperCase() + text.slice(1)).replace(/\.?$/, '')}; see ${see}`;
  }
}

/** The command that the words name, such as `profilectl keys list`. Options may be anywhere between them. */
function commandPath(program: Command, words: readonly string[]): string {
  const path = [program.name()];
  let command = program;
  for (let at = 0; at < words.length && words[at] !== '--'; at++) {
    const word = words[at] as string;
    const isValueNext = program.options.some(({ long, required }) => required && long === word);
    if (isValueNext) at++;
    if (word.startsWith('-')) continue;
    const child = command.commands.find((candidate) => candidate.name() === word);
    if (child === undefined) break;
    command = child;
    path.push(word);
  }
  return path.join(' ');
}

/** The stack frames of an error and its causes. Messages are left out: they may contain a secret or an e-mail address. */
function traceOf(error: unknown): string[] {
  const lines: string[] = [];
  for (let cause = error, depth = 0; cause instanceof Error && depth < 4; cause = cause.cause, depth++) {
    if (depth > 0) lines.push(`caused by ${cause.name}`);
    const stack = (cause.stack ?? '').replace(cause.message, '').split('\n');
    lines.push(...stack.filter((line) => /^ +at /.test(line)));
  }
  return lines;
}
