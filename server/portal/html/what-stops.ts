import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { countText } from '../../../shared/text.ts';
import { countAnswered } from '../../../shared/usage/outcomes.ts';
import { type Html, html } from '../../html.ts';
import { performFor } from '../requests/perform.ts';
import type { PageContext } from '../requests/request-context.ts';
import { userText } from './user-text.ts';

/**
 * What an operation that ends or suspends an Active key breaks: its programs lose access, with the number of today's
 * requests. Empty for other operations, and for a key that does not work anyway.
 */
export async function whatStops(
  context: PageContext,
  { isDangerous }: AnyOperation,
  { identifier, name, state, refusedFor }: KeyView,
): Promise<Html> {
  if (!isDangerous || state !== 'Active' || refusedFor !== null) return html``;
  const { days } = await performFor(context, OPERATIONS.usage, { identifier, days: 1 });
  const answered = days.reduce((sum, day) => sum + countAnswered(day), 0);
  const used = answered === 0 ? '' : `; the API answered ${countText(answered, 'request')} with it today`;
  return html`<p><strong>Programs that use “${userText(name)}” lose access at once${used}.</strong></p>`;
}
