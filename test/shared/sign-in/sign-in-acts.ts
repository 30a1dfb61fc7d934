import { join } from 'node:path';
import type { enterCode } from '../../../shared/sign-in/codes.ts';
import { startLineChild } from '../../support/commands.ts';

/** The actions of sign-in-child.ts by name, each with its input. */
export type Act = { enter: Parameters<typeof enterCode>[1]; 'hand over': string; invite: string };

/** Starts two processes on a database, which end when the test file is done. */
export async function startTwo(databasePath: string) {
  const start = () => startLineChild(join(import.meta.dir, 'sign-in-child.ts'), databasePath);
  const children = await Promise.all([start(), start()]);
  return {
    /** Lets both do the same at once; returns whether each succeeded. */
    both: async <Name extends keyof Act>(name: Name, given: Act[Name]): Promise<boolean[]> => {
      for (const { send } of children) send(JSON.stringify([name, given]));
      return Promise.all(children.map(async ({ next }) => JSON.parse((await next()) ?? 'null')));
    },
  };
}
