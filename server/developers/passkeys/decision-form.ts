import type { z } from 'zod';
import type { Decision } from '../../../shared/access/decision.ts';
import { AppError } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/input-facts.ts';
import { readAnswer, typedText } from '../../../shared/keys/input-text.ts';
import { parseInput } from '../../../shared/keys/parse-input.ts';
import { inputFor, OPERATIONS } from '../../../shared/operations.ts';
import { allValues, type FieldKinds, type Form, oneValue } from '../form.ts';
import { PASSKEY_FIELD } from './passkey-form.ts';

/** What can be decided on a key. */
export type KeyOperation = Exclude<Decision['operation'], 'remove passkey'>;

/** A decision on a key. */
export type KeyDecision = Decision & { operation: KeyOperation };

const DECISIONS = {
  approve: OPERATIONS.approve,
  change: OPERATIONS.change,
  reject: OPERATIONS.reject,
  revoke: OPERATIONS.revoke,
} as const satisfies Record<KeyOperation, object>;

/** The fields of an operation's form: names and schemas of its inputs, as admins have to give them. */
export function decidedFields(operation: KeyOperation): [input: string, schema: z.ZodType][] {
  const { identifier: _, ...fields } = inputFor(DECISIONS[operation], 'admin').shape;
  return Object.entries(fields);
}

/** All of them, once each. */
export const ALL_DECIDED_FIELDS = new Map((Object.keys(DECISIONS) as KeyOperation[]).flatMap(decidedFields));

/** The fields of a form that decides on a key; each operation has some of them. */
export const DECISION_FIELDS: FieldKinds = {
  operation: 'one',
  ...Object.fromEntries(
    [...ALL_DECIDED_FIELDS].map(([input, schema]) => [
      formNameOf(input, schema),
      factsOf(schema).kind === 'permissions' ? 'many' : 'one',
    ]),
  ),
  shown: 'one',
  ...PASSKEY_FIELD,
};

/**
 * Reads a decision on a key from a form. Spans such as `90d` count from `nowMs`. Returns what is wrong with it too, a
 * sentence for each field. Throws `bad_form` for an operation that there is not.
 */
export function readDecision(
  form: Form,
  identifier: string,
  nowMs: number,
): { decision: KeyDecision; faults: Map<string, string> } {
  const operation = oneValue(form, 'operation');
  if (!isOperation(operation)) throw new AppError('bad_form');
  const { values, faults } = readFields(operation, form, nowMs, Object.keys(DECISION_FIELDS));
  return { decision: { operation, identifier, ...values, shown: oneValue(form, 'shown') }, faults };
}

/**
 * Reads those fields of an operation's form that are named; others than the operation has are left out. Returns the values by
 * the names of the operation's inputs, and what is wrong with them, a sentence for each field of the form.
 */
export function readFields(
  operation: KeyOperation,
  form: Form,
  nowMs: number,
  names: readonly string[],
): { values: Record<string, unknown>; faults: Map<string, string> } {
  const values: Record<string, unknown> = {};
  const faults = new Map<string, string>();
  for (const [input, schema] of decidedFields(operation)) {
    const name = formNameOf(input, schema);
    if (!names.includes(name)) continue;
    try {
      values[input] = parseInput(schema, readAnswer(factsOf(schema), allValues(form, name), nowMs));
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'usage') throw error;
      faults.set(name, error.message);
    }
  }
  return { values, faults };
}

/** The fields that send exactly this decision again: names and values. */
export function fieldsOf(decision: KeyDecision): [name: string, value: string][] {
  const { operation, shown } = decision;
  const values = new Map<string, unknown>(Object.entries(decision));
  return [
    ['operation', operation],
    ...decidedFields(operation).flatMap(([input, schema]) =>
      typedText(factsOf(schema).kind, values.get(input)).map((text): [string, string] => [
        formNameOf(input, schema),
        text,
      ]),
    ),
    ['shown', shown],
  ];
}

/** Whether a text names something that can be decided on a key. */
export function isOperation(text: string): text is KeyOperation {
  return Object.hasOwn(DECISIONS, text);
}
