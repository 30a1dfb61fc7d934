import { type AttemptOutcome, outcomeOf } from '../../../shared/approval/approve.ts';
import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { faultOf } from '../../../shared/errors.ts';
import type { VOIDING_EVENTS } from '../../../shared/keys/key.ts';
import { isIdentifier } from '../../../shared/keys/secret.ts';
import type { HistoryView, KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html, userText } from '../../html.ts';
import script from '../html/attempt.browser.js' with { type: 'text' };
import { nameOf } from '../html/key-facts.ts';
import { pageSentence, timeText } from '../html/time.ts';
import { queryValue } from '../requests/form.ts';
import { performFor } from '../requests/operation-form.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './parts.ts';

/** The status of the latest attempt to approve a key, for admins, and the scripts that keep it up to date. */
type ShownAttempt = { body: Html; scripts: readonly string[] };

/** The scripts that keep elements with `data-result="open"` up to date until they are no longer open. */
const LOOK_SCRIPTS: readonly string[] = [script];

/** How long the outcome of an attempt stays on the page of a key that is no longer pending; then only its history has it. */
const SHOWN_MS = 60 * 60_000;

/**
 * The status of the latest attempt to approve a key, from the database alone. `path` is that of the key's page. Screen readers
 * announce changes; the success of a key that works is visually hidden, because its state says so.
 */
export function attemptStatus(
  key: KeyView,
  history: readonly HistoryView[],
  { path, nowMs }: { path: string; nowMs: number },
): ShownAttempt {
  const outcome = outcomeOf(key, history);
  const result = outcome?.result ?? 'none';
  const end = outcome?.end;
  const isPast = key.state !== 'pending' && end !== undefined && nowMs - Date.parse(end.at) >= SHOWN_MS;
  const words = outcome === null || isPast ? null : attemptInWords(key, outcome);
  const again = result === 'open' ? html` <a href="${path}">Refresh</a>` : '';
  const text = words === null ? '' : html`<p class="${LOOKS[result] ?? 'summary'}">${words}${again}</p>`;
  return {
    body: html`<div id="attempt" role="status" data-result="${result}">${text}</div>`,
    scripts: result === 'open' ? LOOK_SCRIPTS : [],
  };
}

const LOOKS: Readonly<Record<string, string>> = { open: 'note', accepted: 'unseen' };

/** The outcome of the latest attempt to approve a key, as sentences; null if there is nothing left to say. */
function attemptInWords({ state }: KeyView, outcome: AttemptOutcome): Html | null {
  const { by, startedAt, result, reason, end } = outcome;
  const isPending = state === 'pending';
  const begun = html`On ${timeText(Date.parse(startedAt))} ${by} approved it`;
  const because = reason === undefined ? '' : html` ${userText(reason)}`;
  if (result === 'open') {
    return html`${begun}. The e-mail with the secret is being sent, which may take a minute.`;
  }
  if (result === 'accepted') {
    return state === 'Active' ? html`${begun}, and the e-mail with the secret was accepted: the key works.` : null;
  }
  if (result === 'refused') {
    return html`${begun}, but the e-mail with the secret was refused.${because}${isPending ? ' The request is still pending.' : ''}`;
  }
  if (result === 'not confirmed') {
    return html`${begun}, but it is not known whether the e-mail with the secret was delivered.${because} If it arrives, the secret in it will never work.${isPending ? ' Approve it again to send a new one.' : ''}`;
  }
  const what =
    end === undefined
      ? html`the decision changed`
      : html`${VOIDED_BY[end.event as keyof typeof VOIDED_BY]} by ${end.by}`;
  return html`${begun}. While the e-mail with the secret was on its way, ${what}. If that e-mail arrives, the secret in it will never work.`;
}

const VOIDED_BY: Readonly<Record<(typeof VOIDING_EVENTS)[number], string>> = {
  rejected: 'the request was rejected',
  withdrawn: 'the request was withdrawn',
  'address changed': 'its owner’s address was changed',
  'profile banned': 'its profile was banned',
};

/** The requests that an admin has just sent decisions on: carried out, changed since they were shown, and refused. */
export type Decided = Record<'decided' | 'changed' | 'refused', string[]>;

/** The names of the parameters that {@link outcomesQuery} makes. */
const OUTCOME_QUERY = ['decided', 'changed', 'refused'] as const;

/** The query with which the queue shows these outcomes above its list. */
export function outcomesQuery(ends: Decided): string {
  return OUTCOME_QUERY.flatMap((name) => (ends[name].length === 0 ? [] : [`${name}=${ends[name].join()}`])).join('&');
}

type Line = { key: KeyView; kind: 'mailing' | 'mailed' | 'rejected' | 'changed' | 'refused'; words: Html };

/** The outcomes of the decisions that the URL names, from the database alone; empty without any. */
export async function outcomes(context: PageContext): Promise<ShownAttempt> {
  const lines: Line[] = [];
  for (const name of OUTCOME_QUERY) {
    for (const identifier of queryValue(context, name).split(',').filter(isIdentifier)) {
      if (faultOf(() => readQueued(context.deps, identifier)) === null) {
        lines.push(await lineOf(context, name, identifier));
      }
    }
  }
  if (lines.length === 0) return { body: html``, scripts: [] };
  const isOpen = lines.some(({ kind }) => kind === 'mailing');
  const hasFailed = lines.some(({ kind }) => kind === 'changed' || kind === 'refused');
  const linkTo = adminKeyPath(context);
  // What failed comes first.
  const sorted = [...lines.filter(isFailure), ...lines.filter((line) => !isFailure(line))];
  const items = sorted.map(
    ({ key, kind, words }) =>
      html`<li><span class="state ${STATE_LOOKS[kind]}">${kind}</span><p><a href="${linkTo(key.identifier)}">${nameOf(key)}</a> <span class="soft">${key.profile === null ? '' : html`${userText(key.profile)} · `}${words}</span></p></li>`,
  );
  return {
    body: html`<div id="decided" role="status" data-result="${isOpen ? 'open' : 'over'}" data-kinds="${lines.map(({ kind }) => kind).join()}">
<details class="outcome"${isOpen || hasFailed || lines.length === 1 ? html` open` : ''}><summary>Your last decisions: ${sumOf(lines)}</summary><ul>${items}</ul></details></div>`,
    scripts: isOpen ? LOOK_SCRIPTS : [],
  };
}

/** The look of each kind, like that of a state. */
const STATE_LOOKS: Record<Line['kind'], string> = {
  mailing: 'waits',
  mailed: 'works',
  rejected: 'over',
  changed: 'failed',
  refused: 'failed',
};

function isFailure({ kind }: Line): boolean {
  return kind === 'changed' || kind === 'refused';
}

async function lineOf(context: PageContext, end: keyof Decided, identifier: string): Promise<Line> {
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  if (end === 'changed') {
    return {
      key,
      kind: 'changed',
      words: html`This has changed since you opened it, so nothing was done. The key is ${key.state}.`,
    };
  }
  const fault = choiceFault(readQueued(context.deps, identifier));
  if (end === 'refused') {
    return { key, kind: 'refused', words: pageSentence(fault ?? 'Nothing was done; try it once more.') };
  }
  if (key.state === 'rejected') return { key, kind: 'rejected', words: html`` };
  const attempt = outcomeOf(key, history);
  if (attempt?.result === 'open') return { key, kind: 'mailing', words: html`The e-mail is on its way.` };
  if (attempt?.result === 'accepted') return { key, kind: 'mailed', words: html`The key is ${key.state}.` };
  const words = attempt === null ? null : attemptInWords(key, attempt);
  return { key, kind: 'refused', words: words ?? html`The key is ${key.state}.` };
}

/** For example `8 mailed, 1 refused`. */
function sumOf(lines: readonly Line[]): string {
  const kinds = ['mailed', 'rejected', 'mailing', 'changed', 'refused'] as const;
  const counts = kinds.map((kind) => [lines.filter((line) => line.kind === kind).length, kind] as const);
  return counts.flatMap(([count, kind]) => (count === 0 ? [] : [`${count} ${kind}`])).join(', ');
}
