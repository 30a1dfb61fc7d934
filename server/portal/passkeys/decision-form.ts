import { AppError } from '../../../shared/errors.ts';
import { factsOf, formNameOf, isLongText } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { type FieldKinds, type Form, oneValue } from '../requests/form.ts';
import { type FormFields, fieldKindsOf, formFields, readFields } from '../requests/operation-form.ts';
import { PASSKEY_FIELD } from './passkey-form.ts';

/** The decision (an operation of admins on the page of a key) with this name; undefined if there is none. */
export function decisionNamed(name: string): AnyOperation | undefined {
  return DECISIONS.find((operation) => operation.name === name);
}

/** The operation of a decision. Throws `bad_form` if there is no such decision. */
export function operationOf({ operation: name }: Pick<Decision, 'operation'>): AnyOperation {
  const operation = decisionNamed(name);
  if (operation === undefined) throw new AppError('bad_form');
  return operation;
}

/** The fields of the form of a decision. */
export function decidedFields(operation: AnyOperation): FormFields {
  return formFields(operation, 'admin');
}

/** The fields that the page of the key has. */
export function shortFields(operation: AnyOperation): FormFields {
  return decidedFields(operation).filter(([, schema]) => !isLongText(schema));
}

/** The fields that the next page has, once for all decisions: long texts, such as a reason. */
export function longFields(operation: AnyOperation): FormFields {
  return decidedFields(operation).filter(([, schema]) => isLongText(schema));
}

/** The fields that the forms of decisions may send; each has some of them. */
export const DECISION_FIELDS: FieldKinds = {
  operation: 'unseen',
  ...fieldKindsOf(DECISIONS.flatMap(decidedFields)),
  shown: 'unseen',
  ...PASSKEY_FIELD,
};

/**
 * Reads a decision on a key from a form. Durations such as `90d` count from `nowMs`. Also returns the errors, a sentence for
 * each invalid field. Throws `bad_form` for an unknown operation.
 */
export function readDecision(
  form: Form,
  identifier: string,
  nowMs: number,
): { decision: Decision; faults: Map<string, string> } {
  const operation = operationOf({ operation: oneValue(form, 'operation') });
  const { values, faults } = readFields(decidedFields(operation), form, nowMs);
  return {
    decision: { operation: operation.name, input: { ...values, identifier }, shown: oneValue(form, 'shown') },
    faults,
  };
}

/** The names and values of form fields that send these fields of a decision. */
export function fieldsOf(fields: FormFields, { input }: Decision): [name: string, value: string][] {
  return fields.flatMap(([name, schema]) =>
    typedText(factsOf(schema).kind, input[name]).map((text): [string, string] => [formNameOf(name, schema), text]),
  );
}
