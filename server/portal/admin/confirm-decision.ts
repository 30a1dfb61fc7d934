import { AppError, type ErrorCode } from '../../../shared/errors.ts';
import { readKey } from '../../../shared/keys/record.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { beginDecision, consumeAssertion } from '../../../shared/passkeys/assertions.ts';
import { html } from '../../html.ts';
import { performHere } from '../../thread/perform.ts';
import { errorSummary, hiddenField } from '../html/fields.ts';
import { fieldsOf, type KeyDecision, operationOf, readDecision } from '../passkeys/decision-form.ts';
import { credentialIn, PASSKEY_SCRIPTS, passkeyForm } from '../passkeys/passkey-form.ts';
import { doneAt } from '../requests/flash.ts';
import { ruleSentence } from '../requests/form-errors.ts';
import type { Outcome, Page, Visit } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { adminKeyPath, nextRequest } from './admin-path.ts';
import { carryOut, refuseImpossible } from './carry-out-decision.ts';
import { decisionInWords } from './decision-words.ts';
import { showAdminKey } from './key.ts';

/**
 * `POST /developers/admin/keys/:identifier/decide`: without a passkey's answer, shows what is decided and asks for it; with
 * one that is for exactly this, carries it out. Throws `not_found`.
 */
export async function decide(visit: Visit): Promise<Outcome> {
  const { access, form, params } = visit;
  const { identifier } = readKey(access.db, params.identifier as string);
  const { decision, faults } = readDecision(form, identifier, access.clock.nowMs());
  if (faults.size > 0) return { ...(await showAdminKey(visit, form, faults)), refusal: 'refused_form' };
  const credential = credentialIn(form);
  try {
    await refuseImpossible(visit.pages, decision);
    return credential === null ? await ask(visit, decision, null) : await decideNow(visit, decision, credential);
  } catch (error) {
    const refusal = refusalFor(error);
    if (refusal === null) throw error;
    const { code, sentence } = refusal;
    if (code === 'forbidden' && credential !== null)
      return { ...(await ask(visit, decision, sentence)), refusal: code };
    return { ...(await showAdminKey(visit, form, new Map([['', sentence]]))), refusal: code };
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

/** The page that shows a decision as it will be carried out, with a challenge for exactly this. */
async function ask(visit: Visit, decision: KeyDecision, fault: string | null): Promise<Page> {
  const { access } = visit;
  const options = beginDecision(access, signedAdmin(visit), decision);
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: decision.identifier });
  const path = adminKeyPath(visit)(decision.identifier);
  const { title, facts, button } = decisionInWords(visit, key, decision);
  return {
    title,
    scripts: PASSKEY_SCRIPTS,
    body: html`${fault === null ? '' : errorSummary(new Map([['', fault]]))}<h1>${title}</h1>
${facts}
${passkeyForm({
  action: `${path}/decide`,
  button: { ...button, cancel: path },
  parts: fieldsOf(decision).map(([name, value]) => hiddenField(name, value)),
  passkey: 'get',
  options,
})}`,
  };
}

/**
 * Uses the passkey's answer up for this decision and does what it says. A decision on a request leads to the next one, where
 * the outcome is told; any other back to its key.
 */
async function decideNow(visit: Visit, decision: KeyDecision, credential: string): Promise<Outcome> {
  const person = await consumeAssertion(visit.access, signedAdmin(visit), credential, decision);
  await carryOut(visit.pages, person, decision);
  const { identifier } = decision;
  const operation = operationOf(decision);
  const isOnRequest = operation.from?.includes('pending') === true;
  const next = isOnRequest
    ? `${await nextRequest(visit, identifier)}?decided=${identifier}`
    : `/developers/admin/keys/${identifier}`;
  return doneAt(next, operation);
}
