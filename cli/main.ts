#!/usr/bin/env bun
import { type Command, CommanderError } from 'commander';
import { AppError, exitCodeOf } from '../shared/errors.ts';
import { cleanForTerminal, escapeJsonForTerminal } from '../shared/text.ts';
import { versionText } from '../shared/version.ts';
import { createProgram } from './program.ts';
import { flushOutput, isClosedOutput, OutputFault, print } from './terminal/output.ts';

async function run(): Promise<number> {
  const program = await createProgram(process.argv[2]);
  try {
    await runCommand(program);
    await flushOutput();
    return 0;
  } catch (error) {
    // It is not an error if the reader of the output stops reading (`| head`), unlike a full disk.
    if (isClosedOutput(error)) return 0;
    await flushOutput().catch(() => undefined);
    const { code, sentence, trace } = describeFault(error, process.env.LOG_LEVEL === 'debug');
    // Commander reads the program's own options before it reports any other error.
    const json = program.opts<{ json?: boolean }>().json === true;
    const more = trace.length > 0 ? { trace } : {};
    const text = json
      ? escapeJsonForTerminal(JSON.stringify({ error: sentence, ...more }))
      : [sentence, ...trace].map((line) => cleanForTerminal(line)).join('\n');
    process.stderr.write(`${text}\n`);
    return code;
  }
}

async function runCommand(program: Command): Promise<void> {
  if (process.argv.length === 2) return program.outputHelp();
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
    // The help has been printed.
    if (error.code === 'commander.version') print(versionText());
  }
}

/** The error that ends a command: exit code, one sentence, and a stack trace without messages (empty unless debugging). */
type Fault = { code: number; sentence: string; trace: string[] };

/**
 * Describes anything that was thrown. Messages of libraries are never shown, except Commander's about the command line. With
 * `isDebugging`, an unexpected error includes its stack trace.
 */
function describeFault(error: unknown, isDebugging: boolean): Fault {
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

process.exit(await run());
