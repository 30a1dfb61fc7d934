import { AppError } from '../../shared/errors.ts';

/** Returns `usage` for a system error while stdin is read, for example if it is a folder; any other error as it is. */
export function inputFault(error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new AppError('usage', `Standard input can't be read (${code}).`, { cause: error });
}
