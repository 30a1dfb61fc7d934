import { AppError } from '../../shared/errors.ts';

/** The error for a fault of stdin while it is read, such as a folder's; any other error as it is. */
export function inputFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new AppError('usage', `Standard input can't be read (${code}).`, { cause: error });
}
