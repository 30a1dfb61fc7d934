import { PERMISSIONS } from '../../../../shared/db/key-columns.ts';
import { checkOpenable } from '../../../../shared/keys/attempt.ts';
import { rateLimitInWords } from '../../../../shared/keys/mail-wording.ts';
import type { KeyView } from '../../../../shared/keys/view.ts';
import { type Html, html } from '../../../html.ts';
import { factList, type ShownFact } from '../../html/key-facts.ts';
import { timeText } from '../../html/time.ts';
import { written } from '../../html/written.ts';
import type { KeyDecision } from '../../passkeys/decision-form.ts';
import type { Visit } from '../../visit.ts';

/** A decision as an admin confirms it: what it is called, everything about it, and the text of the button. */
export type DecisionWords = { title: string; facts: Html; button: string };

/** Says a decision on a key in words. Throws `refused` where the owner of a key to approve can't be mailed any more. */
export function decisionInWords({ access }: Visit, key: KeyView, decision: KeyDecision): DecisionWords {
  const { operation, identifier } = decision;
  const address: ShownFact[] =
    operation === 'approve' ? [['The secret is mailed to', written(checkOpenable(access, identifier))]] : [];
  const facts: ShownFact[] = [
    ['Key', html`<code>${identifier}</code> ${written(key.name)}`],
    ['Profile', key.profile === null ? 'erased' : written(key.profile)],
    ...address,
    ...grantedFacts(decision, key),
    ...reasonFacts(decision),
  ];
  const { title, button, after } = WORDS[operation];
  return { title: `${title} ${identifier}?`, facts: html`${factList(facts)}<p>${after}</p>`, button };
}

const WORDS = {
  approve: {
    title: 'Approve key',
    button: 'Approve with my passkey',
    after: 'The secret is made and mailed to the owner, once. The key works as soon as that mail was accepted.',
  },
  reject: {
    title: 'Reject the request of key',
    button: 'Reject with my passkey',
    after: 'The owner gets the reason by mail. This can’t be undone; the owner can ask again.',
  },
  change: {
    title: 'Change key',
    button: 'Change with my passkey',
    after: 'It holds at once, the secret stays, and the owner gets a mail that says what was changed.',
  },
  revoke: {
    title: 'Revoke key',
    button: 'Revoke with my passkey',
    after:
      'Every request with its secret is refused from then on. This can’t be undone. The owner gets the reason by mail.',
  },
} as const;

function grantedFacts({ operation, permissions, rateLimits, expiresAtMs, retireOldAtMs }: KeyDecision, key: KeyView) {
  const facts: ShownFact[] = [];
  if (permissions !== undefined) {
    const listed = PERMISSIONS.filter((permission) => permissions.includes(permission)).join(', ');
    facts.push(['Permissions', differs(listed, permissionsBefore(operation, key).join(', '))]);
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
  if (operation === 'approve' && key.successorOf !== null) {
    const end = retireOldAtMs === null || retireOldAtMs === undefined ? 'stays as it is' : timeText(retireOldAtMs);
    facts.push([`End of key ${key.successorOf}`, end]);
  }
  return facts;
}

function permissionsBefore(operation: KeyDecision['operation'], key: KeyView): readonly string[] {
  return operation === 'approve' ? key.requestedPermissions : key.permissions;
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
