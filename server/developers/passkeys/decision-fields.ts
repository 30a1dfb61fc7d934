import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { TEXT_RULES } from '../../../shared/keys/fields.ts';
import { canMove } from '../../../shared/keys/key.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { formatRateLimit, RATE_LIMIT_SYNTAX, type RateLimit } from '../../../shared/limits/rate-limit.ts';
import { type Html, html } from '../../html.ts';
import { allValues, type Form, oneValue } from '../form.ts';
import { checkboxes, type Faults, formTo, hiddenField, textArea, textField } from '../html/fields.ts';
import { PERMISSION_WORDS } from '../html/key-facts.ts';
import type { KeyOperation } from './decision-form.ts';

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
  faults: Faults;
};

/** The forms with which an admin decides on a key in its present state; none where nothing can be decided any more. */
export function decisionForms(parts: DecisionParts): Html {
  const { state } = parts.key;
  const forms: [isPossible: boolean, form: () => Html][] = [
    [canMove(state, 'approve'), () => grantForm(parts, 'approve', 'Approve', 'Approve …')],
    [canMove(state, 'reject'), () => reasonForm(parts, 'reject', 'Reject', 'Reject …')],
    [state === 'Active', () => grantForm(parts, 'change', 'Change', 'Change …')],
    [canMove(state, 'revoke'), () => reasonForm(parts, 'revoke', 'Revoke', 'Revoke …')],
  ];
  const possible = forms.filter(([isPossible]) => isPossible);
  if (possible.length === 0) return html``;
  return html`<h2 id="decide">Decide</h2>
<p>Each form leads to a page that shows exactly what you decide. You confirm that with your passkey, and nothing happens before.</p>
${possible.map(([, form]) => form())}`;
}

function grantForm(parts: DecisionParts, operation: 'approve' | 'change', heading: string, button: string): Html {
  const { key, typed, faults, usualRateLimits } = parts;
  const isApproval = operation === 'approve';
  const isTyped = typed !== null && oneValue(typed, 'operation') === operation;
  const value = (name: string, otherwise: string) => (isTyped ? oneValue(typed, name) : otherwise);
  const limits = isApproval ? usualRateLimits : key.rateLimits;
  const permissions = isApproval ? key.requestedPermissions : key.permissions;
  const fields = [
    checkboxes({
      name: 'permissions',
      label: 'Permissions',
      values: isTyped ? allValues(typed, 'permissions') : permissions,
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
      hint: `One to four, separated by spaces, each ${RATE_LIMIT_SYNTAX}.`,
      value: value('rateLimits', limits.map(formatRateLimit).join(' ')),
      faults,
    }),
    textField({
      name: 'expires',
      label: 'Expires',
      hint: 'Empty for never; or a span from now such as 90d or 12h, a date such as 2027-01-31, or a time such as 2027-01-31T12:00Z.',
      value: value('expires', isApproval ? '' : (key.expiresAt ?? '')),
      size: 'short',
      faults,
    }),
    ...(isApproval && key.successorOf !== null
      ? [
          textField({
            name: 'retireOld',
            label: `When key ${key.successorOf} ends, which this one is to replace`,
            hint: 'Empty leaves it as it is; or a span from now such as 7d, a date, or a time. Never later than it ends by itself.',
            value: value('retireOld', ''),
            size: 'short',
            faults,
          }),
        ]
      : []),
  ];
  return section(parts, operation, heading, button, fields);
}

function reasonForm(parts: DecisionParts, operation: 'reject' | 'revoke', heading: string, button: string): Html {
  const { typed, faults } = parts;
  const isTyped = typed !== null && oneValue(typed, 'operation') === operation;
  const field = textArea({
    name: 'reason',
    label: 'Reason',
    hint: 'The owner gets it by mail.',
    value: isTyped ? oneValue(typed, 'reason') : '',
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
