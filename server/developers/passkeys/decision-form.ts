import type { Decision } from '../../../shared/access/decision.ts';
import { isoTime } from '../../../shared/clock.ts';
import { AppError } from '../../../shared/errors.ts';
import { parseExpiry } from '../../../shared/keys/expiry.ts';
import { type Field, inputFaults } from '../../../shared/keys/input.ts';
import { formatRateLimit, parseRateLimits } from '../../../shared/limits/rate-limit.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { allValues, type FieldKinds, type Form, oneValue } from '../form.ts';
import { ASSERTION_FIELDS } from './passkey-form.ts';

/** The fields of a form that decides on a key; each operation has some of them. */
export const DECISION_FIELDS: FieldKinds = {
  operation: 'one',
  permissions: 'many',
  rateLimits: 'one',
  expires: 'one',
  retireOld: 'one',
  reason: 'one',
  shown: 'one',
  ...ASSERTION_FIELDS,
};

/** What can be decided on a key. */
export type KeyOperation = Exclude<Decision['operation'], 'remove passkey'>;

/** A decision on a key. */
export type KeyDecision = Decision & { operation: KeyOperation };

/** The fields of each operation, by their names in the form. */
const FIELDS_OF: Readonly<Record<KeyOperation, readonly DecidedField[]>> = {
  approve: ['permissions', 'rateLimits', 'expires', 'retireOld'],
  change: ['permissions', 'rateLimits', 'expires'],
  reject: ['reason'],
  revoke: ['reason'],
};

type DecidedField = 'permissions' | 'rateLimits' | 'expires' | 'retireOld' | 'reason';

/** Where the two names differ, the one that the operation has. */
const INPUT_NAMES = {
  permissions: 'permissions',
  rateLimits: 'rateLimits',
  expires: 'expiresAtMs',
  retireOld: 'retireOldAtMs',
  reason: 'reason',
} as const satisfies Record<DecidedField, string>;

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
  const { values, faults } = readFields(operation, form, nowMs, FIELDS_OF[operation]);
  return { decision: { operation, identifier, ...values, shown: oneValue(form, 'shown') }, faults };
}

/**
 * Reads those fields of an operation's form that are named; others than the operation has are left out. Returns the values by
 * the names of the operation's inputs, and what is wrong with them, a sentence for each field.
 */
export function readFields(
  operation: KeyOperation,
  form: Form,
  nowMs: number,
  names: readonly string[],
): { values: Record<string, unknown>; faults: Map<string, string> } {
  const wanted = FIELDS_OF[operation].filter((name) => names.includes(name));
  const faults = new Map<string, string>();
  const read = (name: string, parse: () => unknown): unknown => {
    try {
      return parse();
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'usage') throw error;
      faults.set(name, error.message);
      return undefined;
    }
  };
  const values = Object.fromEntries(
    wanted.map((name) => [INPUT_NAMES[name], read(name, () => parseField[name](form, nowMs))]),
  );
  // Admins always give a reason: the rule for it is that of a rejection.
  const rules: Readonly<Record<string, Field>> = OPERATIONS[operation === 'revoke' ? 'reject' : operation].input;
  for (const name of wanted) {
    const input = INPUT_NAMES[name];
    const fault = inputFaults({ [input]: rules[input] as Field }, values).get(input);
    if (fault !== undefined && !faults.has(name)) faults.set(name, fault);
  }
  return { values, faults };
}

const parseField: Readonly<Record<DecidedField, (form: Form, nowMs: number) => unknown>> = {
  permissions: (form) => allValues(form, 'permissions'),
  rateLimits: (form) => parseRateLimits([oneValue(form, 'rateLimits')]),
  expires: (form, nowMs) => parseTime(oneValue(form, 'expires'), nowMs, 'expiry'),
  retireOld: (form, nowMs) => parseTime(oneValue(form, 'retireOld'), nowMs, 'end of the old key'),
  reason: (form) => oneValue(form, 'reason'),
};

/** The fields that send exactly this decision again: names and values. */
export function fieldsOf(decision: KeyDecision): [name: string, value: string][] {
  const { operation, permissions, rateLimits, expiresAtMs, retireOldAtMs, reason, shown } = decision;
  const time = (ms: number | null | undefined) => (ms === null || ms === undefined ? '' : isoTime(ms));
  const values: Readonly<Record<DecidedField, readonly string[]>> = {
    permissions: permissions ?? [],
    rateLimits: [(rateLimits ?? []).map(formatRateLimit).join(' ')],
    expires: [time(expiresAtMs)],
    retireOld: [time(retireOldAtMs)],
    reason: [reason ?? ''],
  };
  return [
    ['operation', operation],
    ...FIELDS_OF[operation].flatMap((name) => values[name].map((value): [string, string] => [name, value])),
    ['shown', shown],
  ];
}

/** Whether a text names something that can be decided on a key. */
export function isOperation(text: string): text is KeyOperation {
  return Object.hasOwn(FIELDS_OF, text);
}

/** A time that was typed, in milliseconds since 1970; null where nothing was. Throws `usage`. */
function parseTime(text: string, nowMs: number, label: string): number | null {
  const typed = text.trim();
  return typed === '' || typed === 'never' ? null : parseExpiry(typed, nowMs, label);
}
