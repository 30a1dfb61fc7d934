import { CommanderError } from 'commander';
import { AppError, exitCodeOf } from '../../shared/errors.ts';
import { OutputFault } from './stdout.ts';

/** The error that ends a command: exit code, one sentence, and a stack trace without messages (empty unless debugging). */
export type Fault = { code: number; sentence: string; trace: string[] };

/**
 * Describes anything that was thrown. Messages of libraries are never shown, except Commander's about the command line. With
 * `isDebugging`, an unexpected error includes its stack trace.
 */
export function describeFault(error: unknown, isDebugging: boolean): Fault {
  if (error instanceof AppError) return { code: exitCodeOf(error.code), sentence: error.message, trace: [] };
  if (error instanceof OutputFault) return { code: exitCodeOf('refused'), sentence: error.message, trace: [] };
  if (error instanceof CommanderError) return { code: exitCodeOf('usage'), sentence: usageSentence(error), trace: [] };
  const kind = error instanceof Error ? error.name : typeof error;
  const sentence = `Something went wrong inside profilectl (${kind}); this is a bug.`;
  const code = exitCodeOf('internal');
  if (isDebugging) return { code, sentence, trace: traceOf(error) };
  return { code, sentence: `${sentence} LOG_LEVEL=debug shows where it happened.`, trace: [] };
}

function usageSentence({ code, message }: CommanderError): string {
  if (code === 'commander.help') return 'A command is missing; --help lists them.';
  // Commander's message repeats the arguments, and one may be a secret.
  if (code === 'commander.excessArguments') return 'Too many arguments; --help shows what the command takes.';
  return message.replace(/^error: /, '');
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
