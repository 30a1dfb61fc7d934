import type { AppError } from '../../shared/errors.ts';

/** Returns the error of a refused act; throws if it is not refused. */
export async function refusal(act: Promise<unknown> | (() => unknown)): Promise<AppError> {
  try {
    await (typeof act === 'function' ? act() : act);
  } catch (error) {
    return error as AppError;
  }
  throw new Error('It was not refused.');
}
