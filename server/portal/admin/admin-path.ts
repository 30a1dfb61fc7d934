import { OPERATIONS } from '../../../shared/operations.ts';
import { publicPath } from '../../http/public-path.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import type { PageContext } from '../requests/request-context.ts';

/** The path of the requests that wait. */
export const QUEUE_PATH = '/developers/admin';

/** The path of all keys, and of those that are found. */
export const KEYS_PATH = '/developers/admin/keys';

/** The path of what became of several decisions, by the id of the assertion that has authorised them. */
export function outcomesPath(id: number): string {
  return `/developers/admin/decided/${id}`;
}

/** The addresses of the admins' pages about keys, as a browser needs them. */
export function adminKeyPath({ access: { config } }: Pick<PageContext, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `${KEYS_PATH}/${encodeURIComponent(identifier)}`);
}

/** The path where an admin goes on who has decided on a request: the next one that waits, else the queue. */
export async function nextRequest(context: PageContext, decided: string): Promise<string> {
  const next = await performWhenUnlocked(context, OPERATIONS.nextPending, { identifier: decided });
  return next === null ? QUEUE_PATH : `${KEYS_PATH}/${next}`;
}
