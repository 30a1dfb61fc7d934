import { outcomeOf } from '../../../shared/approval/outcome.ts';
import { choiceFault, readQueued } from '../../../shared/approval/queue.ts';
import { faultOf } from '../../../shared/errors.ts';
import { isIdentifier } from '../../../shared/keys/list.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { type Html, html } from '../../html.ts';
import { attemptInWords, LOOK_SCRIPTS, type ShownAttempt } from '../html/attempt.ts';
import { nameOf } from '../html/key-facts.ts';
import { pageSentence } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import { queryValue } from '../requests/form.ts';
import { performFor } from '../requests/perform.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

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
      if (faultOf(() => readQueued(context.access, identifier)) === null) {
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
      html`<li><span class="state ${STATES[kind]}">${kind}</span><p><a href="${linkTo(key.identifier)}">${nameOf(key)}</a> <span class="soft">${key.profile === null ? '' : html`${userText(key.profile)} · `}${words}</span></p></li>`,
  );
  return {
    body: html`<div id="decided" role="status" data-result="${isOpen ? 'open' : 'over'}" data-kinds="${lines.map(({ kind }) => kind).join()}">
<details class="outcome"${isOpen || hasFailed || lines.length === 1 ? html` open` : ''}><summary>Your last decisions: ${sumOf(lines)}</summary><ul>${items}</ul></details></div>`,
    scripts: isOpen ? LOOK_SCRIPTS : [],
  };
}

/** The state whose look each kind has. */
const STATES: Record<Line['kind'], string> = {
  ...{ mailing: 'pending', mailed: 'Active', rejected: 'rejected', changed: 'failed', refused: 'failed' },
};

function isFailure({ kind }: Line): boolean {
  return kind === 'changed' || kind === 'refused';
}

async function lineOf(context: PageContext, end: keyof Decided, identifier: string): Promise<Line> {
  const { key, history } = await performFor(context, OPERATIONS.show, { identifier });
  if (end === 'changed') {
    return { key, kind: 'changed', words: html`This has changed since you opened it, so nothing was done.` };
  }
  const fault = choiceFault(readQueued(context.access, identifier));
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
