import type { Config } from '../../shared/config/config.ts';
import type { ErrorCode } from '../../shared/errors.ts';

// What the main thread and the portal's thread send each other beside requests, which have ports of their own.

/** Something that the log should tell, with the id of the request that it is about. */
export type PortalEvent = {
  level: 'info' | 'warn' | 'error';
  message: string;
  cause: string | undefined;
  requestId: string | undefined;
};

/**
 * A message to the portal's thread: the configuration, which comes first; a port over which requests come; the order to open the
 * files, which every request opens too; the order to send the mails that are due; the notice that the server begins to stop;
 * the order to finish what is under way.
 */
export type ToPortal =
  | { kind: 'start'; config: Config }
  | { kind: 'port'; port: MessagePort }
  | { kind: 'wake' }
  | { kind: 'mails' }
  | { kind: 'stopping' }
  | { kind: 'stop' };

/** What came of the mails: whether the mail server should be left alone for a while, or why they could not be looked for. */
export type MailsEnd = { isToPause: boolean } | { code: ErrorCode; sentence: string; cause: string | undefined };

/** A message from the portal's thread: what came of mails, something to log, or that it has finished. */
export type FromPortal = { kind: 'mails'; end: MailsEnd } | { kind: 'event'; event: PortalEvent } | { kind: 'stopped' };
