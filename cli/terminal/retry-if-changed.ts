import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/**
 * Runs `act`, which shows a state, asks for confirmation and acts on it. If the state has changed since it was shown
 * (`changed_since`), prints what changed and runs `act` again, so that the person confirms the new state. Without `isAsking`,
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
