import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { AppError, faultOf } from '../../../shared/errors.ts';
import { formNameOf } from '../../../shared/keys/inputs.ts';
import { keyRevision, readKey } from '../../../shared/keys/record.ts';
import { isIdentifier } from '../../../shared/keys/secret.ts';
import { type KeyView, showKey } from '../../../shared/keys/view.ts';
import type { AnyOperation, Unfinished } from '../../../shared/operations/entry.ts';
import { DECISIONS, isOutcome, isUnfinished, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import type { SignedInPerson } from '../../../shared/sign-in/sessions.ts';
import { runInBackground } from '../../background.ts';
import { html, userText } from '../../html.ts';
import countScript from '../html/count.browser.js' with { type: 'text' };
import { buttonLine, errorSummary, type Faults, hiddenField, inputField, NO_FAULTS } from '../html/fields.ts';
import { joined, permissionNames, stateTag } from '../html/key-facts.ts';
import { doneAt } from '../requests/answers.ts';
import { allValues, oneValue } from '../requests/form.ts';
import { addChange, formFields, formRefusal, performFor, readFields, whatStops } from '../requests/operation-form.ts';
import type { Outcome, Page, PageContext } from '../requests/request-context.ts';
import { asksOnce, longFields } from './decision-forms.ts';
import { showAdminKey } from './key.ts';
import { type Decided, outcomesQuery } from './outcomes.ts';
import { ADMIN_KEYS_PATH, adminKeyPath, QUEUE_PATH, sectionOf } from './parts.ts';
import { partAddress, partFields, showQueue } from './queue.ts';

// Decisions of admins: on one key from its page, or on requests chosen in the queue. Each form sends the versions of the keys
// that it showed. What ends or refuses something asks once more, on one page for all of them.

/** How many secrets are mailed at the same time after several requests were approved. */
const MAX_MAILS = 5;

const REFUSED = 'refused_form' as const;

/** The field with which the page that asks once more answers. */
const SURE = 'sure';

/** `POST /developers/admin/keys/:identifier/decide`: decides on one key. Throws `not_found`. */
export async function decide(context: PageContext): Promise<Outcome> {
  const { deps, form, params } = context;
  const { identifier } = readKey(deps.db, params.identifier as string);
  const operation = DECISIONS.find(({ name }) => name === oneValue(form, 'operation'));
  if (operation === undefined) throw new AppError('bad_form');
  const { values, faults } = readFields(formFields(operation, 'admin'), form, context.nowMs);
  const askedThere = longFields(operation).map(([input, schema]) => formNameOf(input, schema));
  const ofPage = new Map([...faults].filter(([name]) => !askedThere.includes(name)));
  const isChanged = oneValue(form, 'shown') !== keyRevision(deps.db, identifier);
  if (ofPage.size > 0) {
    return { ...(await showAdminKey(context, form, addChange(ofPage, isChanged))), refusal: REFUSED };
  }
  /** The page that asks once more; if the decision is no longer possible, that of the key. */
  const askOnce = async (wrong: Faults): Promise<Page> => {
    // Read before the rest: if the key changes in between, what is confirmed there is refused.
    const revision = keyRevision(deps.db, identifier);
    const fault = faultOf(() => operation.check(deps, showKey(deps, identifier)));
    if (fault !== null) {
      const why = wrong.size > 0 ? wrong : new Map([['', fault]]);
      return { ...(await showAdminKey(context, form, why)), refusal: REFUSED };
    }
    const path = adminKeyPath(context)(identifier);
    return confirm(context, operation, [showKey(deps, identifier)], wrong, {
      action: `${path}/decide`,
      cancel: path,
      hidden: [
        ['operation', operation.name],
        ['shown', revision],
      ],
    });
  };
  if (asksOnce(operation) && !form.has(SURE)) return askOnce(NO_FAULTS);
  if (faults.size > 0) return { ...(await askOnce(addChange(faults, isChanged))), refusal: REFUSED };
  try {
    finishAll(context, await carryOut(context, operation, { ...values, identifier }, oneValue(form, 'shown')));
  } catch (error) {
    const { sentence, ...refused } = formRefusal(error);
    const wrong = new Map([['', sentence]]);
    return { ...(await (asksOnce(operation) ? askOnce(wrong) : showAdminKey(context, form, wrong))), ...refused };
  }
  return REQUEST_DECISIONS.includes(operation)
    ? { seeOther: `${QUEUE_PATH}?${outcomesQuery({ decided: [identifier], changed: [], refused: [] })}` }
    : doneAt(`${ADMIN_KEYS_PATH}/${identifier}`, operation);
}

/** `POST /developers/admin/decide`: approves the chosen requests as requested, or rejects them with one reason, one by one. */
export async function decideSeveral(context: PageContext): Promise<Outcome> {
  const { deps, form, service, to } = context;
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
  const { values, faults } = readFields(longFields(operation), form, context.nowMs);
  const isSure = form.has(SURE);
  if (faults.size > 0 || (asksOnce(operation) && !isSure)) {
    const found = identifiers.filter((one) => faultOf(() => readKey(deps.db, one)) === null);
    // Read before the keys, as on the page that asks about one.
    const versions = found.map((one) => [one, keyRevision(deps.db, one)] as const);
    const isChanged = versions.some(([one, revision]) => shown.get(one) !== revision);
    const keys = found.map((one) => showKey(deps, one));
    const page = await confirm(context, operation, keys, isSure ? addChange(faults, isChanged) : NO_FAULTS, {
      action: to(`${QUEUE_PATH}/decide`),
      cancel: partAddress(context, identifiers),
      hidden: [
        [operation.name, ''],
        ...partFields(context),
        ...versions.flatMap(([one, revision]): [string, string][] => [
          ['chosen', one],
          ['shown', `${one} ${revision}`],
        ]),
      ],
    });
    return isSure ? { ...page, refusal: REFUSED } : page;
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
      if (code === 'internal')
        service.log.event('error', `Key ${identifier} could not be decided on.`, { cause: error });
      ends[code === 'changed_since' ? 'changed' : 'refused'].push(identifier);
    }
  }
  finishAll(context, begun);
  const part = partFields(context).map(([name, value]) => `&${name}=${encodeURIComponent(value)}`);
  return { seeOther: `${QUEUE_PATH}?${outcomesQuery(ends)}${part.join('')}` };
}

/** The input that approves a request as it was made. Throws `refused` if its profile's address changed since. */
function approvedAsRequested({ deps }: PageContext, operation: AnyOperation, identifier: string) {
  if (operation.isDangerous) return {};
  const queued = readQueued(deps, identifier);
  const fault = choiceFault(queued);
  if (fault !== null) throw new AppError('refused', fault);
  return operation.defaults(deps, queued.key);
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
  if (operation.mailsSecret && context.service.isStopping) {
    throw new AppError('try_later', 'The server is shutting down; approve it once it is back.');
  }
  const person = { ...(context.person as SignedInPerson), shown };
  const output = await performFor({ ...context, person }, operation, input);
  if (isOutcome(output) && output.warning !== null) throw new AppError('refused', output.warning);
  return isUnfinished(output) ? [{ identifier: input.identifier, finish: output.finish }] : [];
}

/** Mails the secrets of begun approvals after the answer; the outcome of each is in its key's history. */
function finishAll({ service: { background, log } }: PageContext, begun: readonly Begun[]): void {
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
          log.event('warn', `Key ${identifier} was approved, but did not become Active; its page says why.`);
        else log.event('error', `Key ${identifier} could not be approved.`, { cause });
      }
    }
  };
  for (let at = 0; at < Math.min(MAX_MAILS, begun.length); at++) {
    runInBackground(background, work, (cause) => log.event('error', 'Mailing secrets failed.', { cause }));
  }
}

type Confirmed = { action: string; hidden: readonly (readonly [string, string])[]; cancel: string };

/** The page that asks once more: which keys, what happens, and for a reason if one is needed, with one button, red if that ends something. */
async function confirm(
  context: PageContext,
  operation: AnyOperation,
  keys: readonly KeyView[],
  faults: Faults,
  { action, hidden, cancel }: Confirmed,
): Promise<Page> {
  const [first, ...others] = keys;
  const isOne = first !== undefined && others.length === 0;
  const { button, consequence } = operation.texts;
  const which = isOne ? (first.name === '' ? 'an erased key' : `“${first.name}”`) : `${keys.length} requests`;
  const title = `${button} ${which}?`;
  const heading = isOne && first.name !== '' ? html`${button} “${userText(first.name)}”?` : title;
  const inputs = longFields(operation).map(([input, schema]) =>
    inputField(input, schema, {
      texts: allValues(context.form, formNameOf(input, schema)),
      faults,
      isFirst: faults.size === 0,
      // What happens, and that the owner reads the reason, stands above.
      hint: null,
      title: others.length > 0 ? 'Reason, the same for all' : undefined,
    }),
  );
  return {
    title,
    where: first === undefined ? 'Requests' : sectionOf(first),
    scripts: [countScript],
    body: html`${errorSummary(faults)}<form class="ask stack" method="post" action="${action}" novalidate><div><h1>${heading}</h1><p class="soft">${consequence}</p></div>
${first === undefined ? '' : await whatStops(context, operation, first)}
<ul class="list" aria-label="What this is about">${keys.map(wholeKey)}</ul>
${hidden.map(([name, value]) => hiddenField(name, value))}${hiddenField(SURE, 'yes')}${inputs}${buttonLine({ text: `${button} ${others.length > 0 ? which : 'it'}`, isDangerous: operation.isDangerous, cancel })}</form>`,
  };
}

function wholeKey(key: KeyView) {
  const { name, identifier, profile, expectedUsage, description } = key;
  const facts = [
    stateTag(key),
    profile === null ? 'erased' : userText(profile),
    permissionNames(key),
    expectedUsage === null ? html`<span class="warn">no usage given</span>` : userText(expectedUsage),
    html`<code>${identifier}</code>`,
  ];
  return html`<li class="said"><b>${userText(name || identifier)}</b> <span class="soft">${joined(facts)}</span><p dir="auto">${description}</p></li>`;
}
