import type { Config } from '../../shared/config/config.ts';
import type { ErrorCode } from '../../shared/errors.ts';

// The messages between the main thread and the portal's thread. Requests use ports of their own.

/** A log line, with the id of the request that it is about. */
export type PortalEvent = {
  level: 'info' | 'warn' | 'error';
  message: string;
  cause: string | undefined;
  requestId: string | undefined;
};

/**
 * A message to the portal's thread: the configuration, which comes first; a port for requests; the order to open the files,
 * as every request does too; the order to send the mails that are due; the notice that the server is about to stop; the
 * order to finish its work.
 */
export type ToPortal =
  | { kind: 'start'; config: Config }
  | { kind: 'port'; port: MessagePort }
  | { kind: 'wake' }
  | { kind: 'mails' }
  | { kind: 'stopping' }
  | { kind: 'stop' };

/** The outcome of sending mails: whether to pause before the next ones, or the error that prevented it. */
export type MailsEnd = { isToPause: boolean } | { code: ErrorCode; sentence: string; cause: string | undefined };

/** A message from the portal's thread: the outcome of sending mails, a log line, or that it has finished. */
export type FromPortal = { kind: 'mails'; end: MailsEnd } | { kind: 'event'; event: PortalEvent } | { kind: 'stopped' };
