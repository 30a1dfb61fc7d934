import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import { readKey } from '../../../shared/keys/record.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { beginDecisions, consumeAssertion } from '../../../shared/passkeys/assertions.ts';
import { refuseWhereAll } from '../../../shared/passkeys/decision.ts';
import { type Html, html } from '../../html.ts';
import { runInBackground } from '../../thread/background.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { fieldsOf, type KeyDecision, operationOf, readDecision } from '../passkeys/decision-form.ts';
import { credentialIn, PASSKEY_SCRIPTS, passkeyForm } from '../passkeys/passkey-form.ts';
import { doneAt } from '../requests/flash.ts';
import { oneValue } from '../requests/form.ts';
import { ruleSentence } from '../requests/form-errors.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { adminKeyPath, nextRequest, outcomesPath } from './admin-path.ts';
import { askForReason, needsReason } from './ask-for-reason.ts';
import { carryOut, carryOutAll, refuseImpossible } from './carry-out-decision.ts';
import { type DecidedKey, decisionsInWords } from './decision-words.ts';
import { showAdminKey } from './key.ts';

/** One decision, or several of one kind, that a form sends, and what the page that asks for the passkey needs. */
export type Asked = {
  decisions: readonly KeyDecision[];
  /** Where the form is sent, and the hidden fields that send exactly these decisions again. */
  action: string;
  fields: readonly (readonly [name: string, value: string])[];
  /** The address of *Cancel*. */
  cancel: string;
  /** A note at the top. */
  note?: Html;
  /** Whether the passkey is requested without another click, because the previous page has shown all of it. */
  isAtOnce?: boolean;
};

/**
 * `POST /developers/admin/keys/:identifier/decide`: decides on one key by {@link decideByPasskey}, after asking for a reason
 * if the form lacks one. Throws `not_found`.
 */
export async function decide(context: PageContext): Promise<Outcome> {
  const { access, form, params } = context;
  const { identifier } = readKey(access.db, params.identifier as string);
  const { decision, faults } = readDecision(form, identifier, access.clock.nowMs());
  if (faults.size > 0) {
    return needsReason(operationOf(decision))
      ? askWhy(context, decision, faults)
      : { ...(await showAdminKey(context, form, faults)), refusal: 'refused_form' };
  }
  const path = adminKeyPath(context)(identifier);
  const asked = { decisions: [decision], action: `${path}/decide`, fields: fieldsOf(decision), cancel: path };
  const isAtOnce = needsReason(operationOf(decision));
  return decideByPasskey(context, { ...asked, isAtOnce }, (code, sentence) => {
    if (code === 'forbidden' && credentialIn(form) !== null) return askForPasskey(context, asked, sentence);
    const refused = new Map([['', sentence]]);
    return isAtOnce ? askWhy(context, decision, refused) : showAdminKey(context, form, refused);
  });
}

/**
 * Asks for the reason of a decision on one key in its current state, with the faults if the form had been shown before. Shows
 * the page of the key instead if the decision is no longer possible.
 */
async function askWhy(
  context: PageContext,
  { operation: name, identifier }: KeyDecision,
  faults: Faults,
): Promise<Page> {
  const { access, form, pages } = context;
  const operation = operationOf({ operation: name });
  const shown = keyVersion(access, identifier);
  const path = adminKeyPath(context)(identifier);
  const fields = [['operation', name] as const, ['shown', shown] as const];
  return refusedAgain<Page>(
    async () => {
      await refuseImpossible(pages, { operation: name, identifier, shown });
      const { key } = await performWhenUnlocked(context, OPERATIONS.show, { identifier });
      const asked = { operation, keys: [key], action: `${path}/decide`, fields, cancel: path };
      const reason = oneValue(form, 'reason');
      return form.has('reason') || credentialIn(form) !== null
        ? { ...askForReason(context, { ...asked, reason }, faults), refusal: 'refused_form' }
        : askForReason(context, { ...asked, reason }, NO_FAULTS);
    },
    (_code, sentence) => showAdminKey(context, form, new Map([['', faults.get('') ?? sentence]])),
  );
}

/**
 * Without a credential, shows the decisions and asks for the passkey; with one for exactly these decisions, carries them out.
 * After a refusal, shows the page that `again` makes. Several decisions are refused here only if each of them is.
 */
export function decideByPasskey(context: PageContext, asked: Asked, again: ShowAgain): Promise<Outcome> {
  const credential = credentialIn(context.form);
  return refusedAgain<Outcome>(async () => {
    await refuseWhereAll(asked.decisions, (decision) => refuseImpossible(context.pages, decision));
    return credential === null ? askForPasskey(context, asked, null) : decideNow(context, asked.decisions, credential);
  }, again);
}

/** Makes the page that says why something was refused. */
type ShowAgain = (code: ErrorCode, sentence: string) => Promise<Page>;

/** Runs `act`; if that is refused, shows the page that `again` makes with the refusal's sentence. */
async function refusedAgain<Done>(act: () => Promise<Done>, again: ShowAgain): Promise<Done | Page> {
  try {
    return await act();
  } catch (error) {
    const refusal = refusalFor(error);
    if (refusal === null) throw error;
    return { ...(await again(refusal.code, refusal.sentence)), refusal: refusal.code };
  }
}

/** The refusals after which the page is shown again, with their sentences; null for every other error. */
function refusalFor(error: unknown): { code: ErrorCode; sentence: string } | null {
  const rule = ruleSentence(error);
  if (rule !== null) return { code: 'refused_form', sentence: rule };
  if (!(error instanceof AppError)) return null;
  const { code, message: sentence } = error;
  if (code === 'try_later') return { code: 'busy', sentence };
  return code === 'forbidden' || code === 'changed_since' ? { code, sentence } : null;
}

/** The page that shows decisions completely, as they will be carried out, with a challenge for exactly these. */
export async function askForPasskey(context: PageContext, asked: Asked, fault: string | null): Promise<Page> {
  const { decisions, action, fields, cancel, note = html``, isAtOnce = false } = asked;
  const options = beginDecisions(context.access, signedAdmin(context), decisions);
  const { title, body, button } = decisionsInWords(context, await keysOf(context, decisions));
  return {
    title,
    scripts: PASSKEY_SCRIPTS,
    body: html`${fault === null ? '' : errorSummary(new Map([['', fault]]))}<h1>${title}</h1>
${note}${body}
${passkeyForm({
  action,
  button: { ...button, cancel },
  parts: fields.map(([name, value]) => hiddenField(name, value)),
  passkey: 'get',
  options,
  isAtOnce,
  sticks: true,
})}`,
  };
}

/** Each decision with its key. */
export function keysOf(context: PageContext, decisions: readonly KeyDecision[]): Promise<DecidedKey[]> {
  return Promise.all(
    decisions.map(async (decision) => {
      const { key } = await performWhenUnlocked(context, OPERATIONS.show, { identifier: decision.identifier });
      return { key, decision };
    }),
  );
}

/**
 * Consumes the assertion for these decisions and carries them out. One on a request leads to the next request, which shows the
 * outcome; one on another key leads back to that key; several lead to the page of their outcomes.
 */
async function decideNow(
  context: PageContext,
  decisions: readonly KeyDecision[],
  credential: string,
): Promise<Outcome> {
  const { pages } = context;
  const { id, people } = await consumeAssertion(context.access, signedAdmin(context), credential, decisions);
  const authorised = decisions.flatMap((decision, at) =>
    people.slice(at, at + 1).map((person) => ({ person, decision })),
  );
  const [only, ...others] = authorised;
  if (only === undefined || others.length > 0) {
    carryOutAll(pages, signedAdmin(context), id, authorised);
    return { seeOther: outcomesPath(id) };
  }
  const { identifier } = only.decision;
  const finish = await carryOut(pages, only.person, only.decision);
  runInBackground(pages.background, finish, (cause) =>
    pages.report('error', 'A decision could not be finished.', cause),
  );
  const operation = operationOf(only.decision);
  return operation.from?.includes('pending') === true
    ? { seeOther: `${await nextRequest(context, identifier)}?decided=${identifier}` }
    : doneAt(`/developers/admin/keys/${identifier}`, operation);
}
