import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { AppError } from '../../../shared/errors.ts';
import { formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import { isIdentifier } from '../../../shared/keys/list-cursor.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { type Decision, MAX_DECISIONS } from '../../../shared/passkeys/decision.ts';
import { publicPath } from '../../http/public-path.ts';
import { NO_FAULTS } from '../html/fields.ts';
import {
  DECISION_FIELDS,
  decidedFields,
  fieldsOf,
  longFields,
  readDecision,
  shortFields,
} from '../passkeys/decision-form.ts';
import { credentialIn, PASSKEY_FIELD } from '../passkeys/passkey-form.ts';
import { allValues, type FieldKinds, type Form, oneValue, readForm } from '../requests/form.ts';
import { fieldKindsOf } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { QUEUE_PATH } from './admin-path.ts';
import { needsReason } from './ask-for-reason.ts';
import { refuseImpossible } from './carry-out-decision.ts';
import { confirmDecisions, renewed } from './confirm-decision.ts';
import { PART_FIELDS, partAddress, partFields, showQueue } from './queue.ts';

// Decisions on one or several requests selected in the queue: approved as requested, with the default limits, or rejected with
// one reason. Each decision goes from page to page in a hidden field, as the form that would send it alone.

/**
 * The fields that the queue and the pages after it send. The value of a row's button is the identifier of its request; the
 * button for all selected ones has an empty value. `decision` is the URL-encoded form of one decision, without shared fields.
 */
export const CHOICE_FIELDS: FieldKinds = {
  ...Object.fromEntries(REQUEST_DECISIONS.map(({ name }) => [name, 'unseen'])),
  ...{ chosen: 'many unseen', decision: 'many unseen', ...PART_FIELDS },
  ...fieldKindsOf(REQUEST_DECISIONS.flatMap(longFields)),
  ...PASSKEY_FIELD,
};

const { credential: _, operation: __, ...ONE_DECISION } = DECISION_FIELDS;

/** The operation, the selected keys, and the forms of their decisions, which are missing directly after the queue. */
type Choice = { operation: AnyOperation; identifiers: readonly string[]; forms: ReadonlyMap<string, Form> };

/** `POST /developers/admin/decide`. */
export async function decideSeveral(context: PageContext): Promise<Outcome> {
  const { access, form } = context;
  const { operation, identifiers, forms } = readChoice(form);
  const back = (sentence: string) => refusedQueue(context, identifiers, sentence);
  if (identifiers.length > MAX_DECISIONS) {
    return back(`At most ${MAX_DECISIONS} requests can be decided on at once; you selected ${identifiers.length}.`);
  }
  if (identifiers.length === 0) return back('Select at least one request.');
  const nowMs = access.clock.nowMs();
  // Without a credential, approvals are made from the requests themselves: a form counts only if a passkey has signed it.
  const isRead = credentialIn(form) !== null || needsReason(operation);
  const read = isRead ? [...forms].map(([identifier, one]) => readDecision(one, identifier, nowMs)) : [];
  const queue = publicPath(access.config, QUEUE_PATH);
  const chosen = allValues(form, 'chosen');
  return confirmDecisions(context, {
    operation,
    decisions: read.map(({ decision }) => decision),
    faults: new Map(read.flatMap(({ faults }) => [...faults])),
    renew: () =>
      renewed(identifiers, (identifier) => asRequested(context, operation, identifier, identifiers.length > 1)),
    action: `${queue}/decide`,
    hidden: (decisions) => [
      [operation.name, ''],
      ...partFields(context),
      ...chosen.map((identifier) => ['chosen', identifier] as const),
      ...decisions.map((decision) => ['decision', encoded(operation, decision)] as const),
    ],
    cancel: partAddress(context, chosen),
    isFromQueue: true,
    back: (faults) => back([...faults.values()].join(' ')),
  });
}

function readChoice(form: Form): Choice {
  const [operation, ...others] = REQUEST_DECISIONS.filter(({ name }) => form.has(name));
  if (operation === undefined || others.length > 0) throw new AppError('bad_form');
  const { name } = operation;
  const shared = longFields(operation).map(([input, schema]) => {
    const field = formNameOf(input, schema);
    return [field, [oneValue(form, field)]] as const;
  });
  const sent = allValues(form, 'decision').map((text) => readForm(text, { identifier: 'one', ...ONE_DECISION }));
  const forms = new Map(
    sent.map((one) => [oneValue(one, 'identifier'), new Map([...one, ['operation', [name]], ...shared])]),
  );
  const own = oneValue(form, name);
  const chosen = own === '' ? [...new Set(allValues(form, 'chosen'))] : [own];
  const identifiers = sent.length > 0 ? [...forms.keys()] : chosen;
  if (forms.size !== sent.length || !identifiers.every(isIdentifier)) throw new AppError('bad_form');
  return { operation, identifiers, forms };
}

/**
 * The decision on a request as it is now, with the default input. Throws if it can't be decided on (together with others, if
 * `isWithOthers`).
 */
function asRequested(
  { access, services }: PageContext,
  operation: AnyOperation,
  identifier: string,
  isWithOthers: boolean,
): Decision {
  const shown = keyVersion(access, identifier);
  const queued = readQueued(access, identifier);
  const fault = isWithOthers ? choiceFault(queued) : null;
  if (fault !== null) throw new AppError('refused', fault);
  const defaults = operation.defaults(access, queued.key);
  const values = Object.fromEntries(decidedFields(operation).map(([input]) => [input, defaults[input] ?? null]));
  const decision = { operation: operation.name, input: { ...values, identifier }, shown };
  refuseImpossible(services, decision);
  return decision;
}

function encoded(operation: AnyOperation, decision: Decision): string {
  const { input, shown } = decision;
  return new URLSearchParams([
    ['identifier', input.identifier],
    ...fieldsOf(shortFields(operation), decision),
    ['shown', shown],
  ]).toString();
}

async function refusedQueue(context: PageContext, chosen: readonly string[], sentence: string): Promise<Page> {
  const faults = sentence === '' ? NO_FAULTS : new Map([['', sentence]]);
  return { ...(await showQueue(context, { chosen, faults })), refusal: 'refused_form' };
}
