import type { Command } from 'commander';
import { globalsOf } from '../context.ts';
import { withContext } from '../database.ts';
import { targetOf } from '../remote/target.ts';
import type { KeysContext } from './context.ts';
import { localKeys } from './local-keys.ts';
import { remoteKeys } from './remote/remote-keys.ts';

/** Runs a command on keys in the local database or on a remote server. Throws what `targetOf` and the command throw. */
export async function withKeys<T>(command: Command, act: (context: KeysContext) => Promise<T> | T): Promise<T> {
  const target = await targetOf(command);
  if (target.kind === 'host') {
    return act({ ...globalsOf(command), ...remoteKeys(target.host) });
  }
  return withContext(command, 'use', async ({ deps, actor, ...globals }) => {
    return act({ ...globals, ...localKeys(deps, actor) });
  });
}
