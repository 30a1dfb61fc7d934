import type { Deps } from '../deps.ts';
import type { SessionsFile } from './sessions-file.ts';

/** What the functions of this room need: the dependencies of all, and the sessions file. */
export type Access = Deps & { sessions: SessionsFile };

/** Who asks, as far as a sign-in is told of: the client's address, normalised, and what its browser calls itself. */
export type Client = { address: string; agent: string };
