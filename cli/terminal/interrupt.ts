import { AppError } from '../../shared/errors.ts';

/**
 * Waits until `act` ends, or for Ctrl-C. Throws what `act` throws; after Ctrl-C `cancelled`, with the sentence that
 * `stateText` returns about what has been done. Ctrl-C is noticed only while `act` waits for something.
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
