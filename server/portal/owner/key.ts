import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS, OWNERS_ACTIONS } from '../../../shared/operations.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performHere } from '../../thread/perform.ts';
import { factList, grantFacts, requestFacts, stateTag } from '../html/key-facts.ts';
import { historyTable } from '../html/key-history.ts';
import { USAGE_DAYS, usageChart } from '../html/usage-chart.ts';
import { written } from '../html/user-text.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { stateInWords } from './key-state.ts';
import { bannedNote, ownKeyPath, ownProfile } from './own-profile.ts';

/** `GET /developers/keys/:identifier`: everything about one of one's own keys, and what can be done with it. */
export async function keyPage(visit: Visit): Promise<Page> {
  const identifier = visit.params.identifier as string;
  const { key, history } = await performHere(visit, OPERATIONS.show, { identifier });
  const isGranted = key.permissions.length > 0;
  const usage = isGranted ? await performHere(visit, OPERATIONS.usage, { identifier, days: USAGE_DAYS }) : null;
  const owner = ownProfile(visit);
  const linkTo = ownKeyPath(visit);
  return {
    title: `Key ${identifier}`,
    body: html`<h1>${written(key.name)}</h1>
<p>Key <code>${identifier}</code> ${stateTag(key)}</p>
${bannedNote(owner)}
${stateInWords(key, history)}
${actions(visit, key, owner.banned)}
${isGranted ? html`<h2>What was granted</h2>${factList(grantFacts(key))}` : ''}
${usage === null ? '' : html`<h2>Usage</h2>${usageChart(usage)}`}
<h2>What was asked for</h2>
${factList(requestFacts(key, linkTo))}
<h2>History</h2>
${historyTable(history)}`,
  };
}

/** Whether an owner may do something with a key in this state. */
function isOffered({ from, who }: AnyOperation, state: KeyView['state'], isBanned: boolean): boolean {
  return (from === null || from.includes(state)) && !(isBanned && who.owner === 'own, unless banned');
}

/** Links to what can be done in this state; each page asks once more. */
function actions({ access: { config } }: Visit, { identifier, state }: KeyView, isBanned: boolean): Html {
  const successor = `/developers/keys/new?successor-of=${identifier}`;
  const toSuccessor =
    state === 'Active' && !isBanned
      ? html`<li><a href="${publicPath(config, successor)}">Request a successor</a></li>`
      : '';
  const links = OWNERS_ACTIONS.filter(([operation]) => isOffered(operation, state, isBanned)).map(
    ([{ texts, isDangerous }, { path }]) =>
      html`<li><a${raw(isDangerous ? ' class="danger"' : '')} href="${publicPath(config, `/developers/keys/${identifier}/${path}`)}">${texts?.button ?? path}</a></li>`,
  );
  return html`<ul class="actions">${toSuccessor}${links}</ul>`;
}
