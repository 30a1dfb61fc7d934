import { OPERATIONS } from '../../shared/operations.ts';
import { publicPath } from '../request/public-path.ts';
import { performHere } from './perform.ts';
import type { Visit } from './visit.ts';

/** The path of the requests that wait. */
export const QUEUE_PATH = '/developers/admin';

/** The addresses of the admins' pages about keys, as a browser needs them. */
export function adminKeyPath({ access: { config } }: Pick<Visit, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `/developers/admin/keys/${encodeURIComponent(identifier)}`);
}

/**
 * The path where an admin goes on who has decided on a request: the oldest other one that nobody is approving just now,
 * else the queue.
 */
export async function nextRequest(visit: Visit, decided: string): Promise<string> {
  const { keys } = await performHere(visit, OPERATIONS.list, { states: ['pending'] });
  const next = keys.find(({ identifier, attempt }) => identifier !== decided && attempt?.result !== 'open');
  return next === undefined ? QUEUE_PATH : `/developers/admin/keys/${next.identifier}`;
}
