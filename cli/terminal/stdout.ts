/** An error of standard output. `code` is the system's: EPIPE if nobody reads it any more, ENOSPC on a full disk. */
export class OutputFault extends Error {
  constructor(readonly code: string) {
    super(`The output can't be written (${code}).`);
  }
}

/** True if the error means that nobody reads standard output any more. */
export function isClosedOutput(error: unknown): boolean {
  return error instanceof OutputFault && error.code === 'EPIPE';
}

/** The first error of standard output; null while there is none. */
let fault: unknown = null;

let lastWrite = Promise.resolve();

// The callback of each write gets its error. Without a listener the error would also end the process.
process.stdout.on('error', () => undefined);

/** Writes a text. {@link flushOutput} waits until it is written. */
export function writeOutput(text: string): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  process.stdout.write(text, (cause) => {
    fault ??= cause ?? null;
    resolve();
  });
  lastWrite = promise;
}

/** Waits until everything is written. Throws {@link OutputFault} if that failed. */
export async function flushOutput(): Promise<void> {
  await lastWrite;
  if (fault === null) return;
  const code = fault instanceof Error && 'code' in fault ? fault.code : null;
  throw typeof code === 'string' ? new OutputFault(code) : fault;
}

/** The number of columns of the terminal, 0 if unknown; undefined if standard output is no terminal. */
export function outputColumns(): number | undefined {
  return process.stdout.isTTY ? (process.stdout.columns ?? 0) : undefined;
}
