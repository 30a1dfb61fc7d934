import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { AppError, type ErrorCode, faultOf } from '../../../shared/errors.ts';
import { formNameOf } from '../../../shared/keys/inputs.ts';
import { isIdentifier } from '../../../shared/keys/list.ts';
import { keyRevision, readKey } from '../../../shared/keys/record.ts';
import { type KeyView, showKey } from '../../../shared/keys/view.ts';
import type { AnyOperation, Unfinished } from '../../../shared/operations/entry.ts';
import { isOutcome, isUnfinished, OPERATIONS, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { runInBackground } from '../../background.ts';
import { html, userText } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import countScript from '../html/count.browser.js' with { type: 'text' };
import { buttonLine, errorSummary, type Faults, hiddenField, inputField, NO_FAULTS } from '../html/fields.ts';
import { joined } from '../html/key-facts.ts';
import { doneAt } from '../requests/answers.ts';
import { allValues, oneValue } from '../requests/form.ts';
import { performFor, readFields, ruleSentence, whatStops } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { decidedFields, decisionNamed, longFields, needsReason } from './decision-forms.ts';
import { showAdminKey } from './key.ts';
import { type Decided, outcomesQuery } from './outcomes.ts';
import { ADMIN_KEYS_PATH, adminKeyPath, QUEUE_PATH, sectionOf } from './parts.ts';
import { partAddress, partFields, showQueue } from './queue.ts';

// Decisions of admins: on one key from its page, or on requests chosen in the queue. Each form sends the versions of the keys
// that it showed. What ends or refuses something asks once more, on one page for all of them.

/** How many secrets are mailed at the same time after several requests were approved. */
const MAX_MAILS = 5;

const CHANGED = 'This has changed since you opened it, so nothing was done. Its new state is below.';

/** `POST /developers/admin/keys/:identifier/decide`: decides on one key. Throws `not_found`. */
export async function decide(context: PageContext): Promise<Outcome> {
  const { access, form, params } = context;
  const { identifier } = readKey(access.db, params.identifier as string);
  const operation = decisionNamed(oneValue(form, 'operation'));
  const { values, faults } = readFields(decidedFields(operation), form, access.clock.nowMs());
  const path = adminKeyPath(context)(identifier);
  const back = (wrong: Faults) => showAdminKey(context, form, wrong);
  const reasons = longFields(operation).map(([input, schema]) => formNameOf(input, schema));
  const ofPage = new Map([...faults].filter(([name]) => !reasons.includes(name)));
  if (ofPage.size > 0) return { ...(await back(ofPage)), refusal: 'refused_form' };
  const askOnce = async (wrong: Faults) => {
    const fault = faultOf(() => operation.check(access, showKey(access, identifier)));
    if (fault !== null) return { ...(await back(wrong.size > 0 ? wrong : new Map([['', fault]]))), refusal: REFUSED };
    return confirm(context, operation, [identifier], wrong, {
      ...{ action: `${path}/decide`, cancel: path },
      hidden: [
        ['operation', operation.name],
        ['shown', keyRevision(access.db, identifier)],
      ],
    });
  };
  if (!reasons.every((name) => form.has(name))) return askOnce(NO_FAULTS);
  if (faults.size > 0) return { ...(await askOnce(faults)), refusal: REFUSED };
  try {
    finishAll(context, await carryOut(context, operation, { ...values, identifier }, oneValue(form, 'shown')));
  } catch (error) {
    const refused = refusalFor(error);
    if (refused === null) throw error;
    const wrong = new Map([['', refused.sentence]]);
    return { ...(await (needsReason(operation) ? askOnce(wrong) : back(wrong))), refusal: refused.code };
  }
  return REQUEST_DECISIONS.includes(operation)
    ? { seeOther: `${QUEUE_PATH}?${outcomesQuery({ decided: [identifier], changed: [], refused: [] })}` }
    : doneAt(`${ADMIN_KEYS_PATH}/${identifier}`, operation);
}

const REFUSED = 'refused_form' as const;

/** `POST /developers/admin/decide`: approves the chosen requests as requested, or rejects them with one reason, one by one. */
export async function decideSeveral(context: PageContext): Promise<Outcome> {
  const { access, form, services } = context;
  const [operation, ...others] = REQUEST_DECISIONS.filter(({ name }) => form.has(name));
  if (operation === undefined || others.length > 0) throw new AppError('bad_form');
  // The value of a row's button is its request, that of the button for all chosen is empty.
  const own = oneValue(form, operation.name);
  const identifiers = own === '' ? [...new Set(allValues(form, 'chosen'))] : [own];
  const shown = new Map(allValues(form, 'shown').map((text) => text.split(' ', 2) as [string, string]));
  if (!identifiers.every((one) => isIdentifier(one) && shown.has(one))) throw new AppError('bad_form');
  if (identifiers.length === 0) {
    return { ...(await showQueue(context, new Map([['', 'Choose at least one request.']]))), refusal: REFUSED };
  }
  const { values, faults } = readFields(longFields(operation), form, access.clock.nowMs());
  if (faults.size > 0) {
    const isSent = longFields(operation).every(([input, schema]) => form.has(formNameOf(input, schema)));
    const there = identifiers.filter((identifier) => faultOf(() => showKey(access, identifier)) === null);
    const page = await confirm(context, operation, there, isSent ? faults : NO_FAULTS, {
      action: publicPath(access.config, `${QUEUE_PATH}/decide`),
      cancel: partAddress(context, identifiers),
      hidden: [
        [operation.name, ''],
        ...partFields(context),
        ...there.flatMap((one): [string, string][] => [
          ['chosen', one],
          ['shown', `${one} ${keyRevision(access.db, one)}`],
        ]),
      ],
    });
    return isSent ? { ...page, refusal: REFUSED } : page;
  }
  const ends: Decided = { decided: [], changed: [], refused: [] };
  const begun: Begun[] = [];
  for (const identifier of identifiers) {
    try {
      const input = { ...approvedAsRequested(context, operation, identifier), ...values, identifier };
      begun.push(...(await carryOut(context, operation, input, shown.get(identifier) ?? '')));
      ends.decided.push(identifier);
    } catch (error) {
      const code = error instanceof AppError ? error.code : 'internal';
      if (code === 'signed_out') {
        // The admin was removed: nothing else begins in their name.
        finishAll(context, begun);
        throw error;
      }
      if (code === 'internal') services.report('error', `Key ${identifier} could not be decided on.`, error);
      ends[code === 'changed_since' ? 'changed' : 'refused'].push(identifier);
    }
  }
  finishAll(context, begun);
  const part = partFields(context).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
  return { seeOther: `${QUEUE_PATH}?${outcomesQuery(ends)}${part.join('')}` };
}

/** The input that approves a request as it was made. Throws `refused` if its profile's address changed since. */
function approvedAsRequested({ access }: PageContext, operation: AnyOperation, identifier: string) {
  if (needsReason(operation)) return {};
  const queued = readQueued(access, identifier);
  const fault = choiceFault(queued);
  if (fault !== null) throw new AppError('refused', fault);
  return operation.defaults(access, queued.key);
}

/** A begun approval. */
type Begun = Unfinished & { identifier: string };

/** Carries out a decision on a key as it was shown. Returns what is left to be done after the answer: to mail a secret. */
async function carryOut(
  context: PageContext,
  operation: AnyOperation,
  input: Readonly<Record<string, unknown>> & { identifier: string },
  shown: string,
): Promise<Begun[]> {
  const { person, services } = context;
  if (person?.kind !== 'admin') throw new AppError('forbidden');
  if (operation.mailsSecret && services.isStopping) {
    throw new AppError('try_later', 'The server is shutting down; approve it once it is back.');
  }
  const output = await performFor({ ...context, person: { ...person, shown } }, operation, input);
  if (isOutcome(output) && output.warning !== null) throw new AppError('refused', output.warning);
  return isUnfinished(output) ? [{ identifier: input.identifier, finish: output.finish }] : [];
}

/** Mails the secrets of begun approvals after the answer; the outcome of each is in its key's history. */
function finishAll({ services: { background, report } }: PageContext, begun: readonly Begun[]): void {
  const waiting = [...begun];
  const work = async (signal: AbortSignal) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { identifier, finish } = next;
      try {
        await finish(signal);
      } catch (cause) {
        // The key's history has the outcome of the e-mail; the log does not repeat it.
        const isInHistory = cause instanceof AppError && (cause.code === 'refused' || cause.code === 'try_later');
        if (isInHistory)
          report('warn', `Key ${identifier} was approved, but did not become Active; its page says why.`);
        else report('error', `Key ${identifier} could not be approved.`, cause);
      }
    }
  };
  for (let at = 0; at < Math.min(MAX_MAILS, begun.length); at++) {
    runInBackground(background, work, (cause) => report('error', 'Mailing secrets failed.', cause));
  }
}

/** The refusals after which a form is shown again, with their sentences; null for all other errors. */
function refusalFor(error: unknown): { code: ErrorCode; sentence: string } | null {
  const rule = ruleSentence(error);
  if (rule !== null) return { code: REFUSED, sentence: rule };
  if (!(error instanceof AppError)) return null;
  if (error.code === 'changed_since') return { code: 'changed_since', sentence: CHANGED };
  return error.code === 'try_later' ? { code: 'busy', sentence: error.message } : null;
}

type Confirmed = { action: string; hidden: readonly (readonly [string, string])[]; cancel: string };

/** The page that asks once more: which keys, what happens, and the reason, with one red button. */
async function confirm(
  context: PageContext,
  operation: AnyOperation,
  identifiers: readonly string[],
  faults: Faults,
  { action, hidden, cancel }: Confirmed,
): Promise<Page> {
  const keys: KeyView[] = [];
  for (const identifier of identifiers) {
    keys.push((await performFor(context, OPERATIONS.show, { identifier })).key);
  }
  const [first, ...others] = keys;
  const { button, consequence } = operation.texts;
  const which =
    first === undefined || others.length > 0
      ? `${keys.length} requests`
      : first.name === ''
        ? 'an erased key'
        : `“${first.name}”`;
  const title = `${button} ${which}?`;
  const inputs = longFields(operation).map(([input, schema]) =>
    inputField(input, schema, {
      texts: allValues(context.form, formNameOf(input, schema)),
      ...{ faults, isFirst: faults.size === 0 },
      hint: others.length > 0 ? 'The owner of each request gets this text by e-mail.' : undefined,
    }),
  );
  return {
    title,
    where: first === undefined ? 'Requests' : sectionOf(first),
    scripts: [countScript],
    body: html`${errorSummary(faults)}<form class="ask stack" method="post" action="${action}" novalidate><div><h1>${title}</h1><p class="soft">${consequence}</p></div>
${first === undefined ? '' : await whatStops(context, operation, first)}
<ul class="list" aria-label="What this is about">${keys.map((key) => wholeKey(key))}</ul>
${hidden.map(([name, value]) => hiddenField(name, value))}${inputs}${buttonLine({ text: `${button} ${others.length > 0 ? which : 'it'}`, isDangerous: true, cancel })}</form>`,
  };
}

function wholeKey(key: KeyView) {
  const { name, identifier, profile, requestedPermissions, expectedUsage, description } = key;
  const facts = [
    profile === null ? 'erased' : userText(profile),
    requestedPermissions.map((permission) => permission.replace('api.', '')).join(', '),
    expectedUsage === null ? html`<span class="warn">no usage given</span>` : userText(expectedUsage),
    html`<code>${identifier}</code>`,
  ];
  return html`<li class="said"><b>${userText(name || identifier)}</b> <span class="soft">${joined(facts)}</span><p dir="auto">${description}</p></li>`;
}
