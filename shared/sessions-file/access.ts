import type { Deps } from '../deps.ts';
import type { SessionsFile } from './sessions-file.ts';

/** The dependencies of functions that use the sessions file. */
export type Access = Deps & { sessions: SessionsFile };

/**
 * The origin of a request, as named in notifications of sign-ins: the client's normalised IP address, and the browser's
 * user agent.
 */
export type Client = { address: string; agent: string };
