import { AppError } from '../../shared/errors.ts';
import { notice } from './output.ts';

/**
 * Runs what lays something out, asks, and does it. Where that has changed meanwhile (`changed_since`), says what, and runs it
 * again from the start: the new state is laid out, and asked about. Where nobody is asked, throws that refusal.
 */
export async function againWhileChanged<T>(isAsking: boolean, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!isAsking || !(error instanceof AppError) || error.code !== 'changed_since') throw error;
      notice(`\n${error.message}\n`);
    }
  }
}
