import type { Person } from '../../../shared/actor.ts';
import { AppError, isForOperator } from '../../../shared/errors.ts';
import { faultsIn } from '../../../shared/keys/fields/parse-input.ts';
import { inputFor, type Operation } from '../../../shared/operations/entry.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { type Faults, NO_FAULTS } from '../html/fields.ts';
import type { Outcome, Page, PageContext } from './request-context.ts';

/**
 * The sentence of an error about a rule that the visitor has broken (`usage`, `refused`), to be shown with the form; null for
 * every other error. A `refused` about a file or a disk is for the operator only.
 */
export function ruleSentence(error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'usage' && error.code !== 'refused')) return null;
  return isForOperator(error) ? null : error.message;
}

/** How a form ends: `done` makes the answer of a success, `show` the form again with its faults. */
type FormEnds<Output> = { done: (output: Output) => Outcome; show: (faults: Faults) => Page | Promise<Page> };

/**
 * Performs the operation of a form. If the input breaks a rule, shows the form again with the fault of each invalid field, or
 * else with one for the whole form. Throws every other error.
 */
export async function performForm<Input extends object, Output>(
  context: Pick<PageContext, 'access' | 'person' | 'waitUntilMs'>,
  operation: Operation<Input, Output>,
  input: Input,
  { done, show }: FormEnds<Output>,
): Promise<Outcome> {
  try {
    return done(await performWhenUnlocked(context, operation, input));
  } catch (error) {
    const ofForm = (sentence: string): Faults => new Map([['', sentence]]);
    if (error instanceof AppError && (error.code === 'too_many_requests' || error.code === 'changed_since')) {
      return { ...(await show(ofForm(error.message))), refusal: error.code, details: error.details };
    }
    const sentence = ruleSentence(error);
    if (sentence === null) throw error;
    const faults =
      (error as AppError).code === 'usage'
        ? faultsIn(inputFor(operation, (context.person as Person).kind), input)
        : NO_FAULTS;
    return { ...(await show(faults.size > 0 ? faults : ofForm(sentence))), refusal: 'refused_form' };
  }
}
