import type { AppError } from '../../shared/errors.ts';

/** Returns the error with which something is refused; throws if it isn't refused. */
export async function refusal(act: Promise<unknown> | (() => unknown)): Promise<AppError> {
  try {
    await (typeof act === 'function' ? act() : act);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('It was not refused.');
}
