#!/usr/bin/env bun
import { type Command, CommanderError } from 'commander';
import { isDebugging } from '../shared/config/environment.ts';
import { cleanForTerminal, escapeJsonForTerminal } from '../shared/text.ts';
import { versionText } from '../shared/version.ts';
import { createProgram } from './program.ts';
import { describeFault } from './terminal/faults.ts';
import { print } from './terminal/output.ts';
import { flushOutput, isClosedOutput } from './terminal/stdout.ts';

async function run(): Promise<number> {
  const program = createProgram();
  try {
    await runCommand(program);
    await flushOutput();
    return 0;
  } catch (error) {
    // It is not an error if the reader of the output stops reading (`| head`), unlike a full disk.
    if (isClosedOutput(error)) return 0;
    await flushOutput().catch(() => undefined);
    const { code, sentence, trace } = describeFault(error, isDebugging());
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

process.exit(await run());
