import { AppError, faultOf } from '../../../shared/errors.ts';
import { refuseChangedKey } from '../../../shared/keys/key-version.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { type Authorised, readAuthorised } from '../../../shared/passkeys/pending-decisions.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import { LOOK_SCRIPTS } from '../html/attempt.ts';
import { nameOf } from '../html/key-facts.ts';
import { pageSentence } from '../html/time.ts';
import { operationOf } from '../passkeys/decision-form.ts';
import type { Page, PageContext } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { adminKeyPath, outcomesPath, QUEUE_PATH } from './admin-path.ts';
import { type Fate, fateOf, ofProfile } from './last-decision.ts';

type Line = { key: KeyView; kind: Fate['kind'] | 'not started' | 'next'; words: Html };

/**
 * `GET /developers/admin/decided/:id`: the outcomes of several decisions that one assertion has authorised. They come from the
 * database alone, so the page works even after a crash. Throws `not_found`.
 */
export async function outcomes(context: PageContext): Promise<Page> {
  const { access, params, services } = context;
  const id = /^[1-9]\d{0,15}$/.test(params.id as string) ? Number(params.id) : 0;
  const authorised = readAuthorised(access, signedAdmin(context), id);
  if (authorised === null || authorised.decisions.length < 2) {
    throw new AppError('not_found', 'No results to show. Results are kept for an hour; the log lists every decision.');
  }
  const lines: Line[] = [];
  for (const decision of authorised.decisions)
    lines.push(await lineOf(context, authorised, decision, services.inProgress.has(id)));
  const areOpen = lines.some(isOpen);
  const sum = sumOf(authorised.decisions[0] as Decision, lines);
  const data = html`data-result="${areOpen ? 'open' : 'over'}" data-kinds="${lines.map(({ kind }) => kind).join()}"`;
  const linkTo = adminKeyPath(context);
  const items = lines.map(({ key, kind, words }) => {
    // For a success the state says enough.
    const more = kind === 'refused' || kind === 'not started' ? html`<br>${words}` : '';
    return html`<li><a href="${linkTo(key.identifier)}">${nameOf(key)}</a>${ofProfile(key)} <span class="state ${kind === 'done' || kind === 'mailing' ? key.state : kind}">${kind === 'done' ? key.state : kind}</span>${more}</li>`;
  });
  const again = areOpen ? html`<p><a href="${publicPath(access.config, outcomesPath(id))}">Refresh</a></p>` : '';
  return {
    title: sum,
    where: 'Requests',
    scripts: areOpen ? LOOK_SCRIPTS : [],
    body: html`<h1 id="done" ${data}>${doneOf(authorised.decisions[0] as Decision, lines)}</h1>
<p id="sum" role="status" ${data}>${sum}</p>
<div id="outcomes" ${data}><ol class="rows plain">${items}</ol>${again}</div>
<ul class="actions"><li><a href="${publicPath(access.config, QUEUE_PATH)}">Requests</a></li></ul>`,
  };
}

async function lineOf(
  context: PageContext,
  { atMs }: Authorised,
  decision: Decision,
  isUnderWay: boolean,
): Promise<Line> {
  const { input, shown } = decision;
  const { identifier } = input;
  const operation = operationOf(decision);
  const begins = operation.continuation?.begins ?? operation.event;
  // Before the history is read, because an approval that begins in between changes the key, too.
  const changed = faultOf(() => refuseChangedKey(context.access, identifier, shown, operation.version));
  const { key, history } = await performWhenUnlocked(context, OPERATIONS.show, { identifier });
  const own = history.findLast(({ event, by, at }) => event === begins && isOwn(context, by) && Date.parse(at) >= atMs);
  const fate = own === undefined ? null : fateOf(operation, key, history);
  if (fate !== null) return { key, ...fate };
  if (changed !== null) return { key, kind: 'refused', words: pageSentence(changed) };
  if (isUnderWay) return { key, kind: 'next', words: html`` };
  const fault = faultOf(() => operation.check(context.access, decision.input));
  return {
    key,
    kind: fault === null ? 'not started' : 'refused',
    words: pageSentence(fault ?? 'Still pending: select it again.'),
  };
}

function isOwn(context: PageContext, by: string): boolean {
  return by === `admin ${signedAdmin(context).name}`;
}

/** The heading: `10 requests approved`, `8 of 12 requests approved`, or, while some are open, `… approved so far`. */
function doneOf({ operation }: Decision, lines: readonly Line[]): string {
  const done = lines.filter(({ kind }) => kind === 'done').length;
  const of = done === lines.length ? '' : `${done} of `;
  const soFar = lines.some(isOpen) ? ' so far' : '';
  return `${of}${countText(lines.length, 'request')} ${operationOf({ operation }).event}${soFar}`;
}

function isOpen({ kind }: Line): boolean {
  return kind === 'mailing' || kind === 'next';
}

/** The summary: `8 of 12 mailed, 1 refused, 3 not started`. */
function sumOf({ operation }: Decision, lines: readonly Line[]): string {
  const count = (kind: Line['kind']) => lines.filter((line) => line.kind === kind).length;
  const { event, continuation } = operationOf({ operation });
  const others = (['refused', 'not started'] as const).flatMap((kind) =>
    count(kind) === 0 ? [] : [`${count(kind)} ${kind}`],
  );
  return [`${count('done')} of ${lines.length} ${continuation?.done ?? event}`, ...others].join(', ');
}
