import type { Command } from 'commander';
import { globalsOf, withContext } from '../context.ts';
import type { KeysContext } from './context.ts';

/** Runs a command of keys, on the box or at a server. Throws what `wayOf`, {@link withContext} and the command throw. */
export async function withKeys<T>(command: Command, act: (context: KeysContext) => Promise<T> | T): Promise<T> {
  const { wayOf } = await import('../remote/way.ts');
  const way = await wayOf(command);
  if (way.kind === 'host') {
    const { keysAt } = await import('../remote/keys.ts');
    return act({ ...globalsOf(command), ...keysAt(way.host) });
  }
  return withContext(command, 'use', async ({ deps, actor, ...globals }) => {
    const { keysHere } = await import('./here.ts');
    return act({ ...globals, ...keysHere(deps, actor) });
  });
}
