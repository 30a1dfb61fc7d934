import type { Config } from '../../shared/config/config.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import type { Background } from '../background.ts';
import type { Throttle } from '../http/throttle.ts';

/** The services of the portal's handlers, created once in its thread. */
export type PortalServices = {
  readonly access: Access;
  readonly background: Background;
  /** Logs an event, with the id of the request that it is about. */
  readonly report: (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;
  /** Whether a visitor may be redirected to a path: it is a page's. */
  readonly isPage: (path: string) => boolean;
  /** Limits how many texts an IP address may send to the page that reports leaked secrets. */
  readonly leakReportThrottle: Throttle;
  /** Once true, no approval may start. */
  isStopping: boolean;
};

/** What an application of the thread is created from; `open` opens the files and returns the services. */
export type ThreadParts = {
  config: Config;
  open: (request: Request) => PortalServices;
  report: PortalServices['report'];
};
