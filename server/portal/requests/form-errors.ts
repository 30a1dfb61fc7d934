import type { Person } from '../../../shared/actor.ts';
import { AppError, isForOperator } from '../../../shared/errors.ts';
import type { Operation } from '../../../shared/operations/entry.ts';
import { checkReach } from '../../../shared/operations.ts';
import type { Faults } from '../html/fields.ts';
import { type FormFields, readFields } from './operation-form.ts';
import { performFor } from './perform.ts';
import type { Outcome, Page, PageContext } from './request-context.ts';

/**
 * The sentence of an error about a rule that the visitor has broken (`usage`, `refused`), to be shown with the form; null for
 * every other error. A `refused` about a file or a disk is for the operator only.
 */
export function ruleSentence(error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'usage' && error.code !== 'refused')) return null;
  return isForOperator(error) ? null : error.message;
}

/** `about` is the input that is not in the form, `done` makes the outcome of a success, `show` the form again with its errors. */
type FormEnds<Output> = {
  about: Readonly<Record<string, unknown>>;
  done: (output: Output) => Outcome;
  show: (faults: Faults) => Page | Promise<Page>;
};

/**
 * Reads the fields of a form and performs its operation. If the input breaks a rule, shows the form again with an error for each
 * invalid field, or else with one for the whole form. Throws all other errors.
 */
export async function performForm<Output>(
  context: PageContext,
  operation: Operation<Readonly<Record<string, unknown>>, Output>,
  fields: FormFields,
  { about, done, show }: FormEnds<Output>,
): Promise<Outcome> {
  const { values, faults } = readFields(fields, context.form, context.access.clock.nowMs());
  const input = { ...values, ...about };
  try {
    // A key that the visitor may not see is refused before anything about the form is said.
    checkReach(context.access, context.person as Person, operation, input);
    if (faults.size > 0) return { ...(await show(faults)), refusal: 'refused_form' };
    return done(await performFor(context, operation, input));
  } catch (error) {
    const again = async (sentence: string) => show(new Map([['', sentence]]));
    if (error instanceof AppError && (error.code === 'too_many_requests' || error.code === 'changed_since')) {
      return { ...(await again(error.message)), refusal: error.code, details: error.details };
    }
    const sentence = ruleSentence(error);
    if (sentence === null) throw error;
    return { ...(await again(sentence)), refusal: 'refused_form' };
  }
}
