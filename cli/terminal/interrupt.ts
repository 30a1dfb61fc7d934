import { AppError } from '../../shared/errors.ts';

/**
 * Runs `act` until it ends, or until Ctrl-C. Throws what `act` throws. At Ctrl-C throws `cancelled` with the sentence that
 * `stateText` returns, which says what state things are in. Ctrl-C is noticed only while `act` waits for something.
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
