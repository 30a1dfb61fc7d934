import type { Config } from '../../shared/config/config.ts';
import type { ErrorCode } from '../../shared/errors.ts';

// The messages between the main thread and the portal's thread. Requests have their own ports.

/** An event to log, with the id of its request. */
export type PortalEvent = {
  level: 'info' | 'warn' | 'error';
  message: string;
  cause: string | undefined;
  requestId: string | undefined;
};

/**
 * A message to the portal's thread: first the configuration; then a port for requests, or the order to open the files (as
 * every request does too), to send the mails that are due, to start no more approvals, or to finish its work.
 */
export type ToPortal =
  | { kind: 'start'; config: Config }
  | { kind: 'port'; port: MessagePort }
  | { kind: 'wake' }
  | { kind: 'mails' }
  | { kind: 'stopping' }
  | { kind: 'stop' };

/** The outcome of sending mails: whether to pause before the next ones, or the error that prevented it. */
export type MailsEnd = null | { code: ErrorCode; sentence: string; cause: string | undefined };

/** A message from the portal's thread: the outcome of sending mails, an event to log, or that it has finished. */
export type FromPortal = { kind: 'mails'; end: MailsEnd } | { kind: 'event'; event: PortalEvent } | { kind: 'stopped' };
