import type { Command } from 'commander';
import type { Access } from '../shared/sessions-file/access.ts';
import { openSessionsFile } from '../shared/sessions-file/sessions-file.ts';
import { type Context, withContext } from './database.ts';

/** The context of commands about admins, tokens and sign-ins, which also use the sessions file. */
type AccessContext = Context & { access: Access };

/** Like {@link withContext}, with the sessions file next to the database. */
export async function withAccess<T>(command: Command, act: (context: AccessContext) => Promise<T> | T): Promise<T> {
  return withContext(command, 'use', async (context) => {
    const sessions = openSessionsFile(context.deps.config.databasePath);
    using _ = sessions.sqlite;
    return await act({ ...context, access: { ...context.deps, sessions } });
  });
}
