import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The path of the queue of waiting requests. */
export const QUEUE_PATH = '/developers/admin';

/** The path of the list of keys, and of the search. */
export const ADMIN_KEYS_PATH = '/developers/admin/keys';

/** The path of the outcomes of several decisions, by the id of the assertion that authorised them. */
export function outcomesPath(id: number): string {
  return `/developers/admin/decided/${id}`;
}

/** The section to which a key's page for admins belongs. */
export function sectionOf({ state }: Pick<KeyView, 'state'>): string {
  return state === 'pending' ? 'Requests' : 'Keys';
}

/** Returns a function that makes the path of a key's page for admins, which includes that of PUBLIC_URL. */
export function adminKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `${ADMIN_KEYS_PATH}/${encodeURIComponent(identifier)}`);
}

/** The path to which an admin continues after deciding on a request: the next waiting one or, after the last, the queue. */
export async function nextRequest(context: PageContext, decided: string): Promise<string> {
  const { next } = await performWhenUnlocked(context, OPERATIONS.queuePlace, { identifier: decided });
  return next === null ? QUEUE_PATH : `${ADMIN_KEYS_PATH}/${next}`;
}
