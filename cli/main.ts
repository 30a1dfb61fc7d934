#!/usr/bin/env bun
import { CommanderError } from 'commander';
import { createProgram } from './program.ts';

async function run(words: readonly string[]): Promise<number> {
  const program = await createProgram(words);
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) {
      // The help has been printed.
      if (error.code === 'commander.version') await printVersion();
      return 0;
    }
    const { describeFault } = await import('./faults.ts');
    const { isDebugging } = await import('../shared/config.ts');
    const { code, sentence, places } = describeFault(error, program, words, isDebugging());
    // Commander has read the program's own options before it finds anything else wrong.
    const json = program.opts<{ json?: boolean }>().json === true;
    const more = places.length > 0 ? { places } : {};
    const text = json ? JSON.stringify({ error: sentence, ...more }) : [sentence, ...places].join('\n');
    process.stderr.write(`${text}\n`);
    return code;
  }
}

async function printVersion(): Promise<void> {
  const { versionText } = await import('../shared/version.ts');
  process.stdout.write(`${versionText()}\n`);
}

// Whoever reads us may stop reading (`| head`): that ends us quietly. A full disk does not.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`The output can not be written (${error.code ?? 'unknown fault'}).\n`);
  process.exit(1);
});
const exitCode = await run(process.argv.slice(2));
// A pipe may still be taking what was written, and a fault of the last write is reported a turn later.
await new Promise<void>((resolve) => process.stdout.write('', () => setImmediate(resolve)));
process.exit(exitCode);
