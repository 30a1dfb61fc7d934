import type { KeyState } from '../../shared/db/key-columns.ts';
import type { KeyName } from '../../shared/keys/names.ts';
import { type AskedHost, askHost } from './client.ts';

/** Nobody waits longer for the TAB key, in milliseconds. */
const PATIENCE_MS = 2_000;

/** The first 50 keys at a server in one of these states (in all where none is given). Throws what `askHost` throws. */
export async function keyNamesAt(host: AskedHost, states: readonly KeyState[]): Promise<KeyName[]> {
  const query = { state: states.length === 0 ? undefined : states.join(',') };
  const { body } = await askHost(host, { method: 'GET', path: '/keys', query, patienceMs: PATIENCE_MS });
  return Array.isArray(body.keys) ? body.keys.filter(isKeyName) : [];
}

/** Whether it is one: the shell puts the identifier into the command line as it is, so that a server may send nothing else. */
function isKeyName(value: unknown): value is KeyName {
  if (typeof value !== 'object' || value === null) return false;
  const { identifier, state, profile, name } = value as Record<string, unknown>;
  const isIdentifier = typeof identifier === 'string' && /^[0-9A-Za-z]{8}$/.test(identifier);
  return isIdentifier && [state, profile ?? '', name].every((text) => typeof text === 'string');
}
