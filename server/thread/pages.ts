import type { Access } from '../../shared/sessions-file/access.ts';
import type { Throttle } from '../http/throttle.ts';
import type { Background } from './background.ts';

/** What answers pages: made once in the portal's thread, or by a test in its own thread. */
export type Pages = {
  readonly access: Access;
  /** Work that goes on when its page is answered. */
  readonly background: Background;
  /** Tells the log of something, and which request it is about. */
  readonly report: (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;
  /** Whether a path is that of a page, so that a visitor may be sent there. */
  readonly isPage: (path: string) => boolean;
  /** How many texts each address has sent to the page for found secrets. */
  readonly foundTexts: Throttle;
  /** How often each address has asked for a person's token, or to end one. */
  readonly loginTries: Throttle;
  /** The ids of assertions whose decisions are being carried out. */
  readonly underWay: Set<number>;
  /** True from the first sign that the server stops: no approval may begin any more. */
  isStopping: boolean;
};
