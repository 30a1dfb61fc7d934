import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/**
 * Runs `act`, which shows something, asks for a confirmation and does it. If what was shown has changed meanwhile
 * (`changed_since`), prints what changed and runs `act` again, so that the person confirms the new state. If nobody is asked,
 * throws that refusal.
 */
export async function retryIfChanged<T>(isAsking: boolean, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!isAsking || !(error instanceof AppError) || error.code !== 'changed_since') throw error;
      notice(`\n${error.message}\n`);
    }
  }
}
