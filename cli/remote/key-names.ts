import { KeyList } from '../../shared/api/key-bodies.ts';
import type { KeyState } from '../../shared/db/key-columns.ts';
import type { KeyName } from '../../shared/keys/names.ts';
import { type AskedHost, askHost } from './client.ts';

/** How long completion waits for a server, in milliseconds. */
const PATIENCE_MS = 2_000;

/** The server's first page of keys in one of these states (all states if none is given). Throws what `askHost` throws. */
export async function keyNamesAt(host: AskedHost, states: readonly KeyState[]): Promise<KeyName[]> {
  const query = { state: states.length === 0 ? undefined : states.join(',') };
  const request = { method: 'GET', path: '/keys', query, answer: KeyList, patienceMs: PATIENCE_MS } as const;
  return (await askHost(host, request)).body.keys;
}
