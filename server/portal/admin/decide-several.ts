import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { AppError, type ErrorCode, sentenceOf } from '../../../shared/errors.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import { isIdentifier } from '../../../shared/keys/list-cursor.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { MOST_DECISIONS } from '../../../shared/passkeys/decision.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { type Faults, NO_FAULTS } from '../html/fields.ts';
import { DECISION_FIELDS, decidedFields, fieldsOf, type KeyDecision, readDecision } from '../passkeys/decision-form.ts';
import { credentialIn, PASSKEY_FIELD } from '../passkeys/passkey-form.ts';
import { allValues, type FieldKinds, type Form, oneValue, readForm } from '../requests/form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { QUEUE_PATH } from './admin-path.ts';
import { askForReason, needsReason } from './ask-for-reason.ts';
import { refuseImpossible } from './carry-out-decision.ts';
import { type Asked, askForPasskey, decideByPasskey } from './confirm-decision.ts';
import { showQueue } from './queue.ts';

// Decisions on one or several requests chosen in the queue: approved as requested, with the default limits, or rejected with
// one reason. From page to page, each decision is a hidden field with the form that would send it on its own.

/**
 * The fields that the queue and the pages after it send. The value of a row's button is the identifier of its request; that of
 * the button for all chosen ones is empty. `decision` is the form of one decision, URL-encoded.
 */
export const CHOICE_FIELDS: FieldKinds = {
  ...Object.fromEntries(REQUEST_DECISIONS.map(({ name }) => [name, 'one'])),
  ...{ chosen: 'many', decision: 'many unseen', reason: 'one' },
  ...PASSKEY_FIELD,
};

const { credential: _, ...ONE_DECISION } = DECISION_FIELDS;

/** What was chosen: the operation, the keys, and their decisions as shown by the previous page; none directly after the queue. */
type Choice = {
  operation: AnyOperation;
  identifiers: readonly string[];
  forms: ReadonlyMap<string, Form>;
  reason: string;
};

/** `POST /developers/admin/decide`. */
export async function decideSeveral(context: PageContext): Promise<Outcome> {
  const choice = readChoice(context.form);
  const { operation, identifiers, forms } = choice;
  const most = `At most ${MOST_DECISIONS} requests can be decided on at once; you chose ${identifiers.length}.`;
  if (identifiers.length > MOST_DECISIONS) return refusedQueue(context, identifiers, [most]);
  if (identifiers.length === 0) return refusedQueue(context, [], ['Choose at least one request.']);
  // Without a credential, approvals are made from the requests themselves; their form counts only if a passkey signed it.
  const isConfirmed = forms.size > 0 && (credentialIn(context.form) !== null || needsReason(operation));
  if (!isConfirmed) return layOut(context, choice, NO_FAULTS);
  const nowMs = context.access.clock.nowMs();
  const read = [...forms].map(([identifier, form]) => readDecision(form, identifier, nowMs));
  const faults = new Map(read.flatMap((one) => [...one.faults]));
  if (faults.size > 0) return { ...(await layOut(context, choice, faults)), refusal: 'refused_form' };
  const decisions = read.map(({ decision }) => decision);
  return decideByPasskey(context, askedOf(context, choice, decisions), (_code: ErrorCode, sentence) =>
    layOut(context, choice, new Map([['', sentence]])),
  );
}

function readChoice(form: Form): Choice {
  const [operation, ...others] = REQUEST_DECISIONS.filter(({ name }) => form.has(name));
  if (operation === undefined || others.length > 0) throw new AppError('bad_form');
  const { name } = operation;
  const reason = oneValue(form, 'reason');
  const sent = allValues(form, 'decision').map((text) => readForm(text, { identifier: 'one', ...ONE_DECISION }));
  const forms = new Map(
    sent.map((one) => [
      oneValue(one, 'identifier'),
      new Map([...one, ['operation', [name]], ...(needsReason(operation) ? [['reason', [reason]] as const] : [])]),
    ]),
  );
  const own = oneValue(form, name);
  const chosen = own === '' ? [...new Set(allValues(form, 'chosen'))] : [own];
  const identifiers = sent.length > 0 ? [...forms.keys()] : chosen;
  if (forms.size !== sent.length || !identifiers.every(isIdentifier)) throw new AppError('bad_form');
  return { operation, identifiers, forms, reason };
}

/**
 * The next page: it asks for the reason or the passkey, and shows each request completely in its current state. Requests that
 * can't be decided on are left out and named; if none is left, shows the queue again.
 */
async function layOut(context: PageContext, choice: Choice, faults: Faults): Promise<Outcome & Page> {
  const { operation, identifiers } = choice;
  const { decisions, keys, leftOut } = await gather(context, operation, identifiers);
  if (decisions.length === 0) return refusedQueue(context, identifiers, [...faults.values(), ...leftOut]);
  const note =
    leftOut.length === 0
      ? html``
      : html`<div class="note"><p>Left out:</p><ul>${leftOut.map((one) => html`<li>${one}</li>`)}</ul></div>`;
  const asked = askedOf(context, choice, decisions);
  if (needsReason(operation)) {
    return askForReason(context, { ...asked, operation, keys, reason: choice.reason, note }, faults);
  }
  return askForPasskey(context, { ...asked, note }, faults.get('') ?? null);
}

/** The decisions that are possible, and a sentence for each other request. */
async function gather(context: PageContext, operation: AnyOperation, identifiers: readonly string[]) {
  const decisions: KeyDecision[] = [];
  const keys: KeyView[] = [];
  const leftOut: string[] = [];
  for (const identifier of identifiers) {
    try {
      const shown = keyVersion(context.access, identifier);
      const queued = readQueued(context.access, identifier);
      const fault = identifiers.length > 1 ? choiceFault(queued) : null;
      if (fault !== null) throw new AppError('refused', fault);
      const decision = asAsked(context, operation, queued.key, shown);
      await refuseImpossible(context.pages, decision);
      decisions.push(decision);
      keys.push(queued.key);
    } catch (error) {
      leftOut.push(sentenceOf(error));
    }
  }
  return { decisions, keys, leftOut };
}

/** The decision on a request as it was submitted, with the default limits. */
function asAsked({ access }: PageContext, operation: AnyOperation, key: KeyView, shown: string): KeyDecision {
  const usual = operation.usual(access, key);
  const values = decidedFields(operation).map(([input]) => [input, usual[input] ?? null]);
  return { operation: operation.name, identifier: key.identifier, ...Object.fromEntries(values), shown };
}

/** The form that sends these decisions again, with the credential. */
function askedOf(context: PageContext, { operation, reason }: Choice, decisions: readonly KeyDecision[]): Asked {
  const queue = publicPath(context.access.config, QUEUE_PATH);
  const fields: [string, string][] = [
    [operation.name, ''],
    ...decisions.map((decision): [string, string] => ['decision', encoded(decision)]),
    ...(needsReason(operation) ? [['reason', reason] as [string, string]] : []),
  ];
  return { decisions, action: `${queue}/decide`, fields, cancel: queue, isAtOnce: needsReason(operation) };
}

/** The form of a decision, URL-encoded, without the fields that all of them share. */
function encoded(decision: KeyDecision): string {
  const own = fieldsOf(decision).filter(([name]) => name !== 'operation' && name !== 'reason');
  return new URLSearchParams([['identifier', decision.identifier], ...own]).toString();
}

async function refusedQueue(
  context: PageContext,
  chosen: readonly string[],
  sentences: readonly string[],
): Promise<Outcome & Page> {
  return {
    ...(await showQueue(context, { chosen, faults: new Map([['', sentences.join(' ')]]) })),
    refusal: 'refused_form',
  };
}
