import { AppError, type ErrorCode, sentenceOf } from '../../../shared/errors.ts';
import { formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { keyVersion } from '../../../shared/keys/key-version.ts';
import { readKey } from '../../../shared/keys/record.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { beginDecisions } from '../../../shared/passkeys/assertions.ts';
import { type Decision, refuseIfAll } from '../../../shared/passkeys/decision.ts';
import { html } from '../../html.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { errorSummary, type Faults, hiddenField, NO_FAULTS } from '../html/fields.ts';
import { pageSentence } from '../html/time.ts';
import { whatStops } from '../html/what-stops.ts';
import { fieldsOf, longFields, operationOf, readDecision, shortFields } from '../passkeys/decision-form.ts';
import { credentialIn, PASSKEY_SCRIPTS, passkeyForm } from '../passkeys/passkey-form.ts';
import { ruleSentence } from '../requests/form-errors.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { adminKeyPath, sectionOf } from './admin-path.ts';
import { askForReason, needsReason } from './ask-for-reason.ts';
import { decideNow, refuseImpossible } from './carry-out-decision.ts';
import { type DecidedKey, decisionsInWords } from './decision-words.ts';
import { showAdminKey } from './key.ts';

/** A decision, or several of one kind, that a form sends. */
export type Asked = {
  operation: AnyOperation;
  /** As in the form, with the errors of its fields; none if the form only says which keys they are about. */
  decisions: readonly Decision[];
  faults: Faults;
  /** The same decisions on the keys as they are now. */
  renew: () => Renewed;
  /** Where the form is sent, and its hidden fields for these decisions, without {@link longFields}. */
  action: string;
  hidden: (decisions: readonly Decision[]) => readonly (readonly [name: string, value: string])[];
  /** The URL of *Cancel*. */
  cancel: string;
  /** Whether they began in the queue, which has nothing to fill in. */
  isFromQueue: boolean;
  /** The page on which they began, with these errors. */
  back: (faults: Faults) => Promise<Page>;
};

/** The decisions that are possible now, and a sentence for each of the others. */
export type Renewed = { decisions: readonly Decision[]; leftOut: readonly string[] };

/** `POST /developers/admin/keys/:identifier/decide`: decides on one key. Throws `not_found`. */
export async function decide(context: PageContext): Promise<Outcome> {
  const { access, form, params, services } = context;
  const { identifier } = readKey(access.db, params.identifier as string);
  const { decision, faults } = readDecision(form, identifier, access.clock.nowMs());
  const operation = operationOf(decision);
  const path = adminKeyPath(context)(identifier);
  return confirmDecisions(context, {
    operation,
    decisions: [decision],
    faults,
    renew: () =>
      renewed([identifier], () => {
        const now = { ...decision, shown: keyVersion(access, identifier) };
        refuseImpossible(services, now);
        return now;
      }),
    action: `${path}/decide`,
    hidden: ([one = decision]) => [
      ['operation', operation.name],
      ...fieldsOf(shortFields(operation), one),
      ['shown', one.shown],
    ],
    cancel: path,
    isFromQueue: false,
    back: (wrong) => showAdminKey(context, form, wrong),
  });
}

/** Makes a decision on each of these keys; the sentence of a refusal takes the place of the decision. */
export function renewed(identifiers: readonly string[], decisionOn: (identifier: string) => Decision): Renewed {
  const decisions: Decision[] = [];
  const leftOut: string[] = [];
  for (const identifier of identifiers) {
    try {
      decisions.push(decisionOn(identifier));
    } catch (error) {
      leftOut.push(sentenceOf(error));
    }
  }
  return { decisions, leftOut };
}

/**
 * Asks for a reason if the decisions need one, then shows them and asks for the passkey, then carries them out. After a refusal,
 * shows them as they are now, or the page on which they began. Several decisions are refused here only if each of them is.
 */
export async function confirmDecisions(context: PageContext, asked: Asked): Promise<Outcome> {
  const { operation, decisions, faults, back } = asked;
  const { form, services } = context;
  const credential = credentialIn(form);
  const longNames = longFields(operation).map(([input, schema]) => formNameOf(input, schema));
  const ofForm = new Map([...faults].filter(([name]) => !longNames.includes(name)));
  if (ofForm.size > 0) return { ...(await back(ofForm)), refusal: 'refused_form' };
  const isAskedLater = credential === null && !longNames.every((name) => form.has(name));
  if (decisions.length === 0 || isAskedLater) return ask(context, asked, NO_FAULTS);
  if (faults.size > 0) return { refusal: 'refused_form', ...(await ask(context, asked, faults)) };
  try {
    refuseIfAll(decisions, (decision) => refuseImpossible(services, decision));
    return credential === null
      ? await askForPasskey(context, asked, decisions, null)
      : await decideNow(context, decisions, credential);
  } catch (error) {
    const refused = refusalFor(error);
    if (refused === null) throw error;
    const wrong = new Map([['', refused.sentence]]);
    const isOtherThanShown = refused.code === 'forbidden' && credential !== null;
    const isAskedAgain = isOtherThanShown || asked.isFromQueue || longNames.length > 0;
    return { ...(await (isAskedAgain ? ask(context, asked, wrong) : back(wrong))), refusal: refused.code };
  }
}

/** The refusals after which a page is shown again, with their sentences; null for all other errors. */
function refusalFor(error: unknown): { code: ErrorCode; sentence: string } | null {
  const rule = ruleSentence(error);
  if (rule !== null) return { code: 'refused_form', sentence: rule };
  if (!(error instanceof AppError)) return null;
  const { code, message: sentence } = error;
  if (code === 'try_later') return { code: 'busy', sentence };
  return code === 'forbidden' || code === 'changed_since' ? { code, sentence } : null;
}

/**
 * The page that asks for the reason or for the passkey, with each key as it is now. Keys that can't be decided on are left out
 * and named; if no key is left, shows the page on which the decisions began.
 */
async function ask(context: PageContext, asked: Asked, faults: Faults): Promise<Page> {
  const { operation, renew, action, cancel, back } = asked;
  const { decisions, leftOut } = renew();
  if (decisions.length === 0) {
    // The refusal and the renewal may have the same sentence.
    const sentences = new Set([...faults.values(), ...leftOut]);
    return { ...(await back(new Map([['', [...sentences].join(' ')]]))), refusal: 'refused_form' };
  }
  const note =
    leftOut.length === 0
      ? html``
      : html`<div class="note"><p>Left out:</p><ul>${leftOut.map((one) => html`<li>${pageSentence(one)}</li>`)}</ul></div>`;
  if (!needsReason(operation)) return askForPasskey(context, asked, decisions, faults.get('') ?? null, note);
  const keys = (await keysOf(context, decisions)).map(({ key }) => key);
  return askForReason(context, { operation, keys, action, fields: asked.hidden(decisions), cancel, note }, faults);
}

/** The page that shows decisions completely, as they will be carried out, with a challenge for exactly them. */
async function askForPasskey(
  context: PageContext,
  { operation, action, hidden, cancel, isFromQueue }: Asked,
  decisions: readonly Decision[],
  fault: string | null,
  note = html``,
): Promise<Page> {
  const options = beginDecisions(context.access, signedAdmin(context), decisions);
  const decided = await keysOf(context, decisions);
  const { key } = decided[0] as DecidedKey;
  const form = `${adminKeyPath(context)(key.identifier)}#${operation.name}`;
  const hasFields = isFromQueue && decisions.length === 1 && shortFields(operation).length > 0;
  const others = hasFields ? html` <a href="${form}">Other limits or permissions</a>` : html``;
  const { title, body, button } = decisionsInWords(context, decided, others);
  const texts = decisions.slice(0, 1).flatMap((decision) => fieldsOf(longFields(operation), decision));
  return {
    title,
    where: sectionOf(key),
    scripts: PASSKEY_SCRIPTS,
    body: html`${fault === null ? '' : errorSummary(new Map([['', fault]]))}<h1>${title}</h1>
${note}${await whatStops(context, operation, key)}${body}
${passkeyForm({
  action,
  button: { ...button, cancel },
  parts: [...hidden(decisions), ...texts].map(([name, value]) => hiddenField(name, value)),
  passkey: 'get',
  options,
  // The page that asked for a reason has shown everything else.
  isAtOnce: needsReason(operation),
  sticks: true,
})}`,
  };
}

function keysOf(context: PageContext, decisions: readonly Decision[]): Promise<DecidedKey[]> {
  return Promise.all(
    decisions.map(async (decision) => {
      const { identifier } = decision.input;
      const { key } = await performWhenUnlocked(context, OPERATIONS.show, { identifier });
      return { key, decision };
    }),
  );
}
