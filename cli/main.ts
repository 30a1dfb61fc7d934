#!/usr/bin/env bun
import { isDebugging } from '../shared/config.ts';
import { describeFault } from './faults.ts';
import { createProgram } from './program.ts';

async function run(): Promise<number> {
  const program = createProgram();
  try {
    await program.parseAsync();
    return 0;
  } catch (error) {
    const { code, sentence, places } = describeFault(error, program, process.argv.slice(2), isDebugging());
    if (code === 0) return 0;
    // Commander has read the program's own options before it finds anything else wrong.
    const json = program.opts<{ json?: boolean }>().json === true;
    const more = places.length > 0 ? { places } : {};
    const text = json ? JSON.stringify({ error: sentence, ...more }) : [sentence, ...places].join('\n');
    process.stderr.write(`${text}\n`);
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
