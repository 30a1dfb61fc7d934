import { factsOf } from '../../../shared/keys/fields/input-facts.ts';
import { FIELDS } from '../../../shared/keys/fields/inputs.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { type Html, html } from '../../html.ts';
import { factList, requestFacts, type ShownFact } from '../html/key-facts.ts';
import { relativeTime } from '../html/time.ts';
import { userText } from '../html/user-text.ts';
import type { PageContext } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/** A key to decide on, and the effects of the decision. */
export type WholeKey = { key: KeyView; facts: readonly ShownFact[] };

/** Keys with everything that the decision is based on. Facts that most of several keys share are shown once, above them. */
export function wholeKeys(context: PageContext, keys: readonly WholeKey[]): Html {
  const lists = keys.map(({ key, facts }) => [...askedFacts(context, key, facts), ...facts]);
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return factList([...ownerFacts(only.key), ...(lists[0] ?? [])]);
  const common = commonFacts(lists);
  const above = common.map(({ label, value, others }): ShownFact => [label, html`${value}${exceptions(others)}`]);
  return html`${above.length === 0 ? '' : html`<h2>In common</h2>${factList(above)}`}
<ol class="rows plain whole">${keys.map(({ key }, at) => blockOf(context, key, lists[at] ?? [], common))}</ol>`;
}

function ownerFacts({ profile, identifier }: KeyView): ShownFact[] {
  return [
    ['Profile', profile === null ? 'erased' : userText(profile)],
    ['Key', html`<code>${identifier}</code>`],
  ];
}

/** The facts of the request that neither heading nor decision contains; none if the key is no longer pending. */
function askedFacts(context: PageContext, key: KeyView, facts: readonly ShownFact[]): ShownFact[] {
  if (key.state !== 'pending') return [];
  const areDecided = facts.some(([label]) => label === factsOf(FIELDS.permissions).title);
  const [, ...asked] = requestFacts(key, adminKeyPath(context));
  return asked.filter(([label]) => !(areDecided && label === 'Requested permissions'));
}

/** A fact that more than half of the keys share, and how many differ. */
type CommonFact = { label: string; value: Html | string; others: number };

/** The facts that every key has and more than half share, in the order of the first key. */
function commonFacts(lists: readonly (readonly ShownFact[])[]): CommonFact[] {
  return (lists[0] ?? []).flatMap(([label]) => {
    const values = lists.flatMap((facts) => facts.filter(([name]) => name === label).map(([, value]) => value));
    const alike = values.map((value) => values.filter((other) => isSame(value, other)).length);
    const most = Math.max(...alike);
    const value = values[alike.indexOf(most)];
    if (value === undefined || values.length < lists.length || most * 2 <= lists.length) return [];
    return [{ label, value, others: lists.length - most }];
  });
}

function isSame(one: Html | string, other: Html | string): boolean {
  const textOf = (value: Html | string) => (typeof value === 'string' ? value : value.html);
  return textOf(one) === textOf(other);
}

function exceptions(others: number): Html {
  if (others === 0) return html``;
  return html` <em class="missing">(except for ${others}, marked below)</em>`;
}

/** One of several keys, with its own facts; those that differ from the common ones are marked. */
function blockOf(
  { access }: PageContext,
  key: KeyView,
  all: readonly ShownFact[],
  common: readonly CommonFact[],
): Html {
  const { name, identifier, profile, requestedAt } = key;
  const own = all.filter(([label, value]) => !common.some((one) => one.label === label && isSame(one.value, value)));
  const rest = own.filter(([label]) => label !== 'Description' && label !== 'Requested');
  const items = rest.map(([label, value]) => {
    const isExceptional = common.some((one) => one.label === label);
    return html`<div${isExceptional ? html` class="missing"` : ''}><dt>${label}</dt><dd>${value}</dd></div>`;
  });
  const description = own
    .filter(([label]) => label === 'Description')
    .map(
      ([label, text]) =>
        html`<p class="text${common.some((one) => one.label === label) ? ' missing' : ''}">${text}</p>`,
    );
  return html`<li class="columns"><div><h2>${userText(name)}</h2>
<p class="meta">${profile === null ? 'erased' : userText(profile)} · <code>${identifier}</code> · ${relativeTime(Date.parse(requestedAt), access.clock.nowMs())}</p>${description}</div>
<dl>${items}</dl></li>`;
}
