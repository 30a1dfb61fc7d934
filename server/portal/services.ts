import type { Config } from '../../shared/config/config.ts';
import { withTables } from '../../shared/db/tables.ts';
import { createDeps, createMailDeps, type Deps } from '../../shared/deps.ts';
import { openDatabase } from '../../shared/files/open.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { sendDueMails } from '../../shared/mail/outbox.ts';
import { type CodeDesk, createCodeDesk } from '../../shared/sign-in/codes.ts';
import type { Throttle } from '../../shared/throttle.ts';
import { type Background, createBackground, stopBackground } from '../background.ts';

/** Logs an event, with the id of the request that it is about. */
export type Report = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;

/** The services of pages and of `/manage`. */
export type PortalServices = {
  readonly access: Deps;
  readonly background: Background;
  readonly report: Report;
  readonly limits: Limits;
  /** How often each IP address has sent the forms that strangers can send, by their routes. */
  readonly throttles: Map<string, Throttle>;
  /** What is counted about requests for sign-in codes, and the mails being sent. */
  readonly codes: CodeDesk;
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
export function createPortalServices(access: Deps, report: Report, limits: Limits): PortalServices {
  return {
    access,
    report,
    limits,
    background: createBackground(),
    throttles: new Map(),
    codes: createCodeDesk(access.clock),
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
      services ??= Object.assign(createPortalServices(openDeps(configOf()), report, limits), { isStopping });
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
      services.access.db.$client.close();
    },
  };
}

/** Opens another connection to the database, which must exist and be current. Throws `refused`. */
function openDeps(config: Config): Deps {
  return createDeps(withTables(openDatabase(config.databasePath, 'pages')), config);
}
