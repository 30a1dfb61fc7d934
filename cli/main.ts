#!/usr/bin/env bun
import { CommanderError } from 'commander';
import { AppError } from '../shared/errors.ts';
import { exitCodeOf } from './exit-codes.ts';
import { createProgram } from './program.ts';

/** Commander's sentence without its "error: " and with its suggestion, if any, on the same line. */
function usageSentence(error: CommanderError): string {
  return error.message.replace(/^error: /, '').replaceAll('\n', ' ');
}

/** A sentence and an exit code for whatever was thrown; no stack and no library's text reaches a person. */
function describe(error: unknown): { code: number; sentence: string } {
  if (error instanceof AppError) return { code: exitCodeOf(error.code), sentence: error.message };
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, sentence: usageSentence(error) };
  const kind = error instanceof Error ? error.name : typeof error;
  return { code: 1, sentence: `Something went wrong inside profilectl (${kind}); this is a bug.` };
}

async function run(): Promise<number> {
  const program = createProgram();
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    const { code, sentence } = describe(error);
    if (code === 0) return 0;
    const noCommand = error instanceof CommanderError && error.code === 'commander.help';
    const text = noCommand ? 'A command is missing; see profilectl --help.' : sentence;
    process.stderr.write(process.argv.includes('--json') ? `${JSON.stringify({ error: text })}\n` : `${text}\n`);
    return code;
  }
}

// Whoever reads us may stop reading (`| head`): that ends us quietly. A full disk does not.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`The output can not be written (${error.code ?? 'unknown fault'}).\n`);
  process.exit(1);
});
const exitCode = await run();
// A pipe may still be taking what was written, and a fault of the last write is reported a turn later.
await new Promise<void>((resolve) => process.stdout.write('', () => setImmediate(resolve)));
process.exit(exitCode);
