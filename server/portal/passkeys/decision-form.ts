import { AppError } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { type FieldKinds, type Form, oneValue } from '../requests/form.ts';
import { type FormFields, fieldKindsOf, formFields, readFields } from '../requests/operation-form.ts';
import { PASSKEY_FIELD } from './passkey-form.ts';

/** A decision on a key: the name of one of the operations that can be decided, and its input. */
export type KeyDecision = Decision;

/** The operation of a name that admins decide on the page of a key; undefined where there is none. */
export function decisionNamed(name: string): AnyOperation | undefined {
  return DECISIONS.find((operation) => operation.name === name);
}

/** The operation that a decision is about. Throws `bad_form` where it can't be decided on. */
export function operationOf({ operation: name }: Pick<KeyDecision, 'operation'>): AnyOperation {
  const operation = decisionNamed(name);
  if (operation === undefined) throw new AppError('bad_form');
  return operation;
}

/** The fields of the form of a decision. */
export function decidedFields(operation: AnyOperation): FormFields {
  return formFields(operation, 'admin');
}

/** All of them, once each. */
export const ALL_DECIDED_FIELDS = new Map(DECISIONS.flatMap(decidedFields));

/** The fields of a form that decides on a key; each operation has some of them. */
export const DECISION_FIELDS: FieldKinds = {
  operation: 'one',
  ...fieldKindsOf([...ALL_DECIDED_FIELDS]),
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
  const operation = operationOf({ operation: oneValue(form, 'operation') });
  const { values, faults } = readFields(decidedFields(operation), form, nowMs);
  return { decision: { operation: operation.name, identifier, ...values, shown: oneValue(form, 'shown') }, faults };
}

/** The fields that send exactly this decision again: names and values. */
export function fieldsOf(decision: KeyDecision): [name: string, value: string][] {
  const { operation, shown } = decision;
  const values = new Map<string, unknown>(Object.entries(decision));
  return [
    ['operation', operation],
    ...decidedFields(operationOf(decision)).flatMap(([input, schema]) =>
      typedText(factsOf(schema).kind, values.get(input)).map((text): [string, string] => [
        formNameOf(input, schema),
        text,
      ]),
    ),
    ['shown', shown],
  ];
}
