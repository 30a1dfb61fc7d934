import { basename } from 'node:path';
import type { Config } from '../../shared/config/config.ts';
import { AppError } from '../../shared/errors.ts';
import { type Faults, NO_FAULTS } from './html/fields.ts';
import type { Page } from './visit.ts';

/**
 * The sentence of an error that says which rule of the product a person has broken (`usage`, `refused`), to be shown beside
 * the form; null for every other error. A `refused` that tells of a file or a disk is for the operator only.
 */
export function ruleSentence({ databasePath }: Pick<Config, 'databasePath'>, error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'usage' && error.code !== 'refused')) return null;
  if (error.details.cause !== undefined || error.message.includes(basename(databasePath))) return null;
  return error.message;
}

/**
 * The page of a form that was refused, as `show` makes it of what is wrong: with each field that breaks a rule, as
 * `faultsOf` finds them, or with the sentence of the rule for the whole form. Throws every error that is about no rule of
 * the product.
 */
export function refusedForm(
  config: Pick<Config, 'databasePath'>,
  error: unknown,
  show: (faults: Faults) => Page,
  faultsOf: () => Faults = () => NO_FAULTS,
): Page {
  const ofForm = (sentence: string): Faults => new Map([['', sentence]]);
  if (error instanceof AppError && error.code === 'too_many_requests') {
    return { ...show(ofForm(error.message)), refusal: error.code, details: error.details };
  }
  const sentence = ruleSentence(config, error);
  if (sentence === null) throw error;
  const faults = (error as AppError).code === 'usage' ? faultsOf() : NO_FAULTS;
  return { ...show(faults.size > 0 ? faults : ofForm(sentence)), refusal: 'refused_form' };
}
