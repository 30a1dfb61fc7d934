import { AppError } from '../shared/errors.ts';

/**
 * Waits for something, or until Ctrl-C. Throws what `act` throws, and `cancelled` with the sentence that `stateText` gives
 * at Ctrl-C: what state things are in then. Only what waits now and then can be interrupted so.
 */
export async function untilInterrupted<T>(act: Promise<T>, stateText: () => string | Promise<string>): Promise<T> {
  const interrupted = Promise.withResolvers<never>();
  const interrupt = async () => {
    try {
      interrupted.reject(new AppError('cancelled', await stateText()));
    } catch (error) {
      interrupted.reject(error);
    }
  };
  process.once('SIGINT', interrupt);
  try {
    return await Promise.race([act, interrupted.promise]);
  } finally {
    process.off('SIGINT', interrupt);
  }
}
