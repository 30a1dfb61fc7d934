import type { Config } from '../../shared/config/config.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import type { Throttle } from '../http/throttle.ts';
import type { Background } from './background.ts';

/** What the code that answers pages works with: made once in the portal's thread, or by a test. */
export type Pages = {
  readonly access: Access;
  /** Work that continues after its page was answered. */
  readonly background: Background;
  /** Logs an event, with the id of the request that it is about. */
  readonly report: (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;
  /** Whether a path is that of a page, to which a visitor may be redirected. */
  readonly isPage: (path: string) => boolean;
  /** Limits how many texts an address may send to the page for found secrets. */
  readonly foundTexts: Throttle;
  /** Limits how often an address may request or revoke a personal token. */
  readonly loginTries: Throttle;
  /** The ids of assertions whose decisions are being carried out. */
  readonly inProgress: Set<number>;
  /** True once the server begins to stop: no approval may start any more. */
  isStopping: boolean;
};

/** What an application of the thread works with: the configuration, a function that opens the files, and the log. */
export type ThreadParts = { config: Config; open: (request: Request) => Pages; report: Pages['report'] };
