import type { KeyView } from '../../../shared/keys/view.ts';
import { publicPath } from '../../http/public-path.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The path of the queue of waiting requests. */
export const QUEUE_PATH = '/developers/admin';

/** The path of the list of keys, and of the search. */
export const ADMIN_KEYS_PATH = '/developers/admin/keys';

/** The section to which a key's page for admins belongs. */
export function sectionOf({ state }: Pick<KeyView, 'state'>): string {
  return state === 'pending' ? 'Requests' : 'Keys';
}

/** Returns a function that makes the path of a key's page for admins, which includes that of PUBLIC_URL. */
export function adminKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `${ADMIN_KEYS_PATH}/${encodeURIComponent(identifier)}`);
}
