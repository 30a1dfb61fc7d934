import type { z } from 'zod';
import type { Person } from '../../../shared/actor.ts';
import { AppError, faultOf, isForOperator } from '../../../shared/errors.ts';
import { parseInput } from '../../../shared/keys/fields.ts';
import { factsOf, formNameOf, readAnswer } from '../../../shared/keys/inputs.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { parseRateLimit, RATE_LIMIT_BOUNDS } from '../../../shared/limits/rate-limit.ts';
import { type AnyOperation, inputFor, type Operation } from '../../../shared/operations/entry.ts';
import { checkReach, OPERATIONS, perform } from '../../../shared/operations.ts';
import type { SignedInPerson } from '../../../shared/sign-in/sessions.ts';
import { countText, numberText } from '../../../shared/text.ts';
import { countAnswered } from '../../../shared/usage/usage.ts';
import { type Html, html, userText } from '../../html.ts';
import type { Faults } from '../html/fields.ts';
import { allValues, type Form, oneValue } from './form.ts';
import type { Outcome, Page, PageContext } from './request-context.ts';

// The forms of operations on keys, generated from their entries in the table.

/** The fields of a form: names and schemas of inputs. */
export type FormFields = readonly (readonly [input: string, schema: z.ZodType])[];

/** The fields of an operation's form on the page of a key, with the rules for this kind of person. */
export function formFields(operation: AnyOperation, kind: Person['kind']): FormFields {
  const { identifier: _, ...fields } = inputFor(operation, kind).shape;
  return Object.entries(fields);
}

/** What was sent for an input: the selected value or, if that is `other`, what was typed. Only permissions and limits are several. */
export function sentTexts(input: string, schema: z.ZodType, form: Form): readonly string[] {
  const name = formNameOf(input, schema);
  const { kind } = factsOf(schema);
  if (kind === 'permissions') return allValues(form, name);
  const text = oneValue(form, name);
  if (kind === 'rate limits' && text === 'other') return typedLimits(name, form);
  return form.has(name) ? [text === 'other' ? oneValue(form, `${name}Other`) : text] : [];
}

/** The typed limits such as `60/1m`, without spaces between digits. All lines but the first may be empty. */
function typedLimits(name: string, form: Form): string[] {
  const spans = allValues(form, `${name}Span`);
  return allValues(form, `${name}Other`)
    .map((count, at) => `${count.replace(/\s/g, '')}/${spans[at]}`)
    .filter((text, at) => at === 0 || !text.startsWith('/'));
}

const NUMBER = `The number of requests must be a whole number from 1 to ${numberText(RATE_LIMIT_BOUNDS.maxQuota)}.`;
const REPEATED = 'Choose another span: each limit of a key has its own.';

/** What is wrong with typed limits, by the fields of the parts that are. */
function limitFaults(name: string, limits: readonly string[]): [field: string, sentence: string][] {
  const spans = limits.map((text) => text.slice(text.lastIndexOf('/')));
  return limits.flatMap((text, at): [string, string][] => {
    if (faultOf(() => parseRateLimit(text)) !== null) return [[`${name}-count-${at}`, NUMBER]];
    return spans.indexOf(spans[at] ?? '') < at ? [[`${name}-span-${at}`, REPEATED]] : [];
  });
}

/**
 * Reads these fields of a form. Durations such as `90d` count from `nowMs`. Returns the values by the names of the operation's
 * inputs, and a sentence for each invalid field of the form.
 */
export function readFields(
  fields: FormFields,
  form: Form,
  nowMs: number,
): { values: Record<string, unknown>; faults: Map<string, string> } {
  const values: Record<string, unknown> = {};
  const faults = new Map<string, string>();
  for (const [input, schema] of fields) {
    const name = formNameOf(input, schema);
    const facts = factsOf(schema);
    const texts = sentTexts(input, schema, form);
    try {
      values[input] = parseInput(schema, readAnswer(facts, texts, nowMs));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'usage') throw error;
      const isTyped = facts.kind === 'rate limits' && oneValue(form, name) === 'other';
      const parts = isTyped ? limitFaults(name, texts) : [];
      if (parts.length === 0) faults.set(name, error.message);
      for (const [field, sentence] of parts) faults.set(field, sentence);
    }
  }
  return { values, faults };
}

/**
 * The sentence of an error about a rule that the visitor has broken (`usage`, `refused`), to be shown with the form; null for
 * every other error. A `refused` about a file or a disk is for the operator only.
 */
export function ruleSentence(error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'usage' && error.code !== 'refused')) return null;
  return isForOperator(error) ? null : error.message;
}

const CHANGED = 'This has changed since you opened it, so nothing was done. Its new state is below.';

/**
 * How a form is refused because of an error: it is shown again with this sentence, and with the status of the code. Throws the
 * errors that are not about the form.
 */
export function formRefusal(error: unknown): Required<Pick<Page, 'refusal' | 'details'>> & { sentence: string } {
  const rule = ruleSentence(error);
  if (rule !== null) return { refusal: 'refused_form', details: {}, sentence: rule };
  if (!(error instanceof AppError)) throw error;
  const { code, message, details } = error;
  if (code === 'changed_since') return { refusal: code, details, sentence: CHANGED };
  if (code === 'try_later') return { refusal: 'busy', details, sentence: message };
  if (code === 'too_many_requests') return { refusal: code, details, sentence: message };
  throw error;
}

/** What is wrong with a form; if what it is about has changed since, that too, because the page comes back as it is now. */
export function addChange(faults: Faults, isChanged: boolean): Faults {
  return isChanged ? new Map([['', CHANGED], ...faults]) : faults;
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
  const { values, faults } = readFields(fields, context.form, context.nowMs);
  const input = { ...values, ...about };
  try {
    // A key that the visitor may not see is refused before anything about the form is said.
    checkReach(context.deps, context.person as SignedInPerson, operation, input);
    if (faults.size > 0) return { ...(await show(faults)), refusal: 'refused_form' };
    return done(await performFor(context, operation, input));
  } catch (error) {
    const { sentence, ...refused } = formRefusal(error);
    return { ...(await show(new Map([['', sentence]]))), ...refused };
  }
}

/**
 * Performs an operation for the signed-in person; see {@link perform}. The server sends the stored mails within seconds, so that no
 * response waits for a mail server; the caller has to `finish` an unfinished outcome.
 */
export async function performFor<Input extends object, Output>(
  { deps, person, write }: Pick<PageContext, 'deps' | 'person' | 'write'>,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const act = () => perform(deps, person as SignedInPerson, operation, input);
  // An approval reads the mail settings first, and then waits for the lock by itself.
  return operation.event === null || operation.mailsSecret ? act() : write(act);
}

/**
 * What an operation that ends or suspends an Active key breaks: its programs lose access, with the number of today's
 * requests. Empty for other operations, and for a key that does not work anyway.
 */
export async function whatStops(
  context: PageContext,
  { isDangerous }: AnyOperation,
  { identifier, name, state, refusedFor }: KeyView,
): Promise<Html> {
  if (!isDangerous || state !== 'Active' || refusedFor !== null) return html``;
  const { days } = await performFor(context, OPERATIONS.usage, { identifier, days: 1 });
  const answered = days.reduce((sum, day) => sum + countAnswered(day), 0);
  const used = answered === 0 ? '' : `; the API answered ${countText(answered, 'request')} with it today`;
  return html`<p><strong>Programs that use “${userText(name)}” lose access at once${used}.</strong></p>`;
}
