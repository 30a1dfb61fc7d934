/** An error of standard output. `code` is the system's: EPIPE if the reader has closed it, ENOSPC on a full disk. */
export class OutputFault extends Error {
  constructor(readonly code: string) {
    super(`The output can't be written (${code}).`);
  }
}

/** Whether the error means that the reader has closed standard output. */
export function isClosedOutput(error: unknown): boolean {
  return error instanceof OutputFault && error.code === 'EPIPE';
}

let fault: unknown = null;

let lastWrite = Promise.resolve();

// The callback of each write receives its error. Without a listener, the error would also end the process.
process.stdout.on('error', () => undefined);

/** Writes text to stdout. {@link flushOutput} waits until it is written. */
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

/** The number of columns of the terminal, 0 if unknown; undefined if standard output is not a terminal. */
export function outputColumns(): number | undefined {
  return process.stdout.isTTY ? (process.stdout.columns ?? 0) : undefined;
}
