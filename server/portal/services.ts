import type { Config } from '../../shared/config/config.ts';
import { createMailDeps } from '../../shared/deps.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { sendDueMails } from '../../shared/mail/outbox.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import { closeAccess, openAccess, renewSessions } from '../../shared/sessions-file/open-access.ts';
import { type Background, createBackground, stopBackground } from '../background.ts';
import type { Throttle } from '../http/throttle.ts';

/** Logs an event, with the id of the request that it is about. */
export type Report = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;

/** The services of pages and of `/manage`. */
export type PortalServices = {
  readonly access: Access;
  readonly background: Background;
  readonly report: Report;
  readonly limits: Limits;
  /** How often each IP address has sent the forms that strangers can send, by their routes. */
  readonly throttles: Map<string, Throttle>;
  /** Once true, no approval may start. */
  isStopping: boolean;
};

/** The pages and `/manage` of a server: their connections are opened by the first request or sweep. */
export type Portal = {
  /** The limits whose levels its pages show: those of the server. */
  readonly limits: Limits;
  /** Opens the files unless they are open. Throws `refused`; the next call tries again. */
  open: () => PortalServices;
  /** The services if the files are open. */
  opened: () => PortalServices | null;
  /** Sends the mails that are due. Resolves to whether to pause before the next ones. Throws the errors of `sendNotices`. */
  sendMails: () => Promise<void>;
  /** Announces that the server is about to stop: no more approvals start, but pages are still served. */
  beginStop: () => void;
  /** Waits for background work, then closes the files; called once no request is in flight. */
  stop: () => Promise<void>;
};

/** Creates the services on open files. */
export function createPortalServices(access: Access, report: Report, limits: Limits): PortalServices {
  return {
    access,
    report,
    limits,
    background: createBackground(),
    throttles: new Map(),
    isStopping: false,
  };
}

/** Waits for the background work; see {@link stopBackground}. */
export function stopPortalServices(services: PortalServices): Promise<void> {
  services.isStopping = true;
  return stopBackground(services.background);
}

/** Creates the portal of a server. */
export function createPortal(configOf: () => Config, report: Report, limits: Limits): Portal {
  let services: PortalServices | null = null;
  let isStopping = false;
  return {
    limits,
    open: () => {
      services ??= Object.assign(createPortalServices(openAccess(configOf()), report, limits), { isStopping });
      renewSessions(services.access);
      return services;
    },
    opened: () => services,
    sendMails: () => sendDueMails(createMailDeps(configOf()), report, () => isStopping),
    beginStop: () => {
      isStopping = true;
      if (services !== null) services.isStopping = true;
    },
    stop: async () => {
      if (services === null) return;
      await stopPortalServices(services);
      closeAccess(services.access);
    },
  };
}
