import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { rateLimitInWords } from '../../../shared/mail-texts/mail-wording.ts';
import type { Texts } from '../../../shared/operations/entry.ts';
import { type Html, html } from '../../html.ts';
import { factList, type ShownFact } from '../html/key-facts.ts';
import { timeText } from '../html/time.ts';
import { written } from '../html/user-text.ts';
import { type KeyDecision, operationOf } from '../passkeys/decision-form.ts';
import type { Visit } from '../requests/request-context.ts';

/** A decision as an admin confirms it: what it is called, everything about it, and its button. */
export type DecisionWords = { title: string; facts: Html; button: { text: string; isDangerous: boolean } };

/** Says a decision on a key in words. Throws `refused` where the owner of a key to approve can't be mailed any more. */
export function decisionInWords({ access }: Visit, key: KeyView, decision: KeyDecision): DecisionWords {
  const { identifier } = decision;
  const operation = operationOf(decision);
  const usual = operation.usual(access, key);
  const facts: ShownFact[] = [
    ['Key', html`<code>${identifier}</code> ${written(key.name)}`],
    ['Profile', key.profile === null ? 'erased' : written(key.profile)],
    ...operation.alsoConfirmed(access, key).map(([name, value]): ShownFact => [name, written(value)]),
    ...grantedFacts(decision, key, usual),
    ...reasonFacts(decision),
  ];
  const { title, button, consequence } = operation.texts as Texts;
  return {
    title: `${title} ${identifier}?`,
    facts: html`${factList(facts)}<p>${consequence}</p>`,
    button: { text: `${button} with my passkey`, isDangerous: operation.isDangerous },
  };
}

function grantedFacts(
  { permissions, rateLimits, expiresAtMs, retireOldAtMs }: KeyDecision,
  key: KeyView,
  usual: Readonly<Record<string, unknown>>,
) {
  const facts: ShownFact[] = [];
  if (permissions !== undefined) {
    const listed = PERMISSIONS.filter((permission) => permissions.includes(permission)).join(', ');
    facts.push(['Permissions', differs(listed, typedText('permissions', usual.permissions).join(', '))]);
  }
  if (rateLimits !== undefined) {
    facts.push([
      'Rate limits',
      html`<ul class="plain tight">${rateLimits.map((limit) => html`<li>${rateLimitInWords(limit)}</li>`)}</ul>`,
    ]);
  }
  if (expiresAtMs !== undefined) {
    facts.push(['Expires', expiresAtMs === null ? 'never, unless it is revoked' : timeText(expiresAtMs)]);
  }
  if ('retireOldAtMs' in usual) {
    const end = retireOldAtMs === null || retireOldAtMs === undefined ? 'stays as it is' : timeText(retireOldAtMs);
    facts.push([`End of key ${key.successorOf}`, end]);
  }
  return facts;
}

/** A value, and what was asked for or is granted now where that is another. */
function differs(value: string, before: string): Html {
  return value === before ? html`${value}` : html`${value} <span class="soft">(so far: ${before})</span>`;
}

function reasonFacts({ reason }: KeyDecision): ShownFact[] {
  return reason === undefined || reason === null
    ? []
    : [['Reason', html`<span class="text">${written(reason)}</span>`]];
}
