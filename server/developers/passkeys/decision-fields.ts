import { isoTime } from '../../../shared/clock.ts';
import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { TEXT_RULES } from '../../../shared/keys/fields.ts';
import { canMove, hasSecret } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { formatRateLimit, RATE_LIMIT_SYNTAX, type RateLimit } from '../../../shared/limits/rate-limit.ts';
import { type Html, html } from '../../html.ts';
import { allValues, type Form, oneValue } from '../form.ts';
import { checkboxes, type Faults, formTo, hiddenField, textArea, textField } from '../html/fields.ts';
import { PERMISSION_WORDS } from '../html/key-facts.ts';
import type { KeyOperation } from './decision-form.ts';
import type { DecisionLink } from './decision-link.ts';

/** What the forms of a key's page are made of. */
export type DecisionParts = {
  key: KeyView;
  /** The state that the page shows, as `shownKey` says it. */
  shown: string;
  /** Where the forms are sent. */
  action: string;
  /** The limits that an approval grants where the admin says nothing else. */
  usualRateLimits: readonly RateLimit[];
  /** What was typed, where one of the forms was refused. */
  typed: Form | null;
  /** What the address of the page fills in, where nothing was typed yet. */
  link: DecisionLink | null;
  faults: Faults;
};

/** The forms with which an admin decides on a key in its present state; none where nothing can be decided any more. */
export function decisionForms(parts: DecisionParts): Html {
  const { state } = parts.key;
  const forms: [isPossible: boolean, form: () => Html][] = [
    [canMove(state, 'approve'), () => grantForm(parts, 'approve', 'Approve', 'Approve …')],
    [canMove(state, 'reject'), () => reasonForm(parts, 'reject', 'Reject', 'Reject …')],
    [hasSecret(state), () => grantForm(parts, 'change', 'Change', 'Change …')],
    [canMove(state, 'revoke'), () => reasonForm(parts, 'revoke', 'Revoke', 'Revoke …')],
  ];
  const possible = forms.filter(([isPossible]) => isPossible);
  if (possible.length === 0) return html``;
  return html`<h2 id="decide">Decide</h2>
<p>Each form leads to a page that shows exactly what you decide. You confirm that with your passkey, and nothing happens before.</p>
${possible.map(([, form]) => form())}`;
}

function grantForm(parts: DecisionParts, operation: 'approve' | 'change', heading: string, button: string): Html {
  const { key, faults, usualRateLimits } = parts;
  const isApproval = operation === 'approve';
  const typed = typedIn(parts, operation);
  const link = typed === null && parts.link?.operation === operation ? parts.link : null;
  const limits = (isApproval ? usualRateLimits : key.rateLimits).map(formatRateLimit).join(' ');
  const permissions = isApproval ? key.requestedPermissions : key.permissions;
  const expires = isApproval ? '' : (key.expiresAt ?? '');
  const value = (name: string, otherwise: string) =>
    typed === null ? (link?.fields.get(name)?.[0] ?? otherwise) : oneValue(typed, name);
  // What a link sets is compared as it is meant, so that 60/60s is no other limit than 60/1m.
  const { values: set = {} } = link ?? {};
  const mark = (name: string, meant: string | null, otherwise: string) =>
    link?.fields.has(name) && meant !== otherwise ? markOf(otherwise) : '';
  const linkedTime = (atMs: unknown) => (typeof atMs === 'number' ? isoTime(atMs) : atMs === null ? '' : null);
  const fields = [
    checkboxes({
      name: 'permissions',
      label: 'Permissions',
      hint: mark('permissions', listText(set.permissions), listText(permissions) ?? ''),
      values: typed === null ? (link?.fields.get('permissions') ?? permissions) : allValues(typed, 'permissions'),
      options: PERMISSIONS.map((permission) => ({
        value: permission,
        label: permission,
        hint: PERMISSION_WORDS[permission],
      })),
      faults,
    }),
    textField({
      name: 'rateLimits',
      label: 'Rate limits',
      hint: html`One to four, separated by spaces, each ${RATE_LIMIT_SYNTAX}. ${mark('rateLimits', limitsText(set.rateLimits), limits)}`,
      value: value('rateLimits', limits),
      faults,
    }),
    textField({
      name: 'expires',
      label: 'Expires',
      hint: html`Empty for never; or a span from now such as 90d or 12h, a date such as 2027-01-31, or a time such as 2027-01-31T12:00Z. ${mark('expires', linkedTime(set.expiresAtMs), expires)}`,
      value: value('expires', expires),
      size: 'short',
      faults,
    }),
    ...(isApproval && key.successorOf !== null
      ? [
          textField({
            name: 'retireOld',
            label: `When key ${key.successorOf} ends, which this one is to replace`,
            hint: html`Empty leaves it as it is; or a span from now such as 7d, a date, or a time. Never later than it ends by itself. ${mark('retireOld', linkedTime(set.retireOldAtMs), '')}`,
            value: value('retireOld', ''),
            size: 'short',
            faults,
          }),
        ]
      : []),
  ];
  return section(parts, operation, heading, button, fields);
}

/** Says that a link has set a field, and what would stand there without it. */
function markOf(otherwise: string): Html {
  return html`<mark>Set by a link</mark>, instead of ${otherwise === '' ? 'nothing' : otherwise}.`;
}

function listText(permissions: unknown): string | null {
  return Array.isArray(permissions) ? PERMISSIONS.filter((one) => permissions.includes(one)).join(', ') : null;
}

function limitsText(limits: unknown): string | null {
  return Array.isArray(limits) ? limits.map(formatRateLimit).join(' ') : null;
}

/** What was typed into the form of an operation, where that was refused. */
function typedIn({ typed }: DecisionParts, operation: KeyOperation): Form | null {
  return typed !== null && oneValue(typed, 'operation') === operation ? typed : null;
}

function reasonForm(parts: DecisionParts, operation: 'reject' | 'revoke', heading: string, button: string): Html {
  const { faults } = parts;
  const typed = typedIn(parts, operation);
  const field = textArea({
    name: 'reason',
    label: 'Reason',
    hint: 'The owner gets it by mail.',
    value: typed === null ? '' : oneValue(typed, 'reason'),
    rows: 3,
    bounds: TEXT_RULES.reason,
    faults,
  });
  return section(parts, operation, heading, button, [field]);
}

function section(
  { shown, action }: DecisionParts,
  operation: KeyOperation,
  heading: string,
  button: string,
  fields: readonly Html[],
): Html {
  return html`<section aria-labelledby="${operation}"><h3 id="${operation}">${heading}</h3>${formTo(action, button, hiddenField('operation', operation), hiddenField('shown', shown), ...fields)}</section>`;
}
