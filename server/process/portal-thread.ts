import type { Config } from '../../shared/config/config.ts';
import { createMailDeps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import { closeAccess, openAccess, renewSessions } from '../../shared/sessions-file/open-access.ts';
import { sendNotices } from '../../shared/upkeep/delivery/deliver.ts';
import { describeFault } from '../observability/log.ts';
import { createPortalApp } from '../portal/app.ts';
import { createPages, stopPages } from '../portal/pages.ts';
import { startSweeping } from '../portal/sign-in/sweeping.ts';
import type { Pages } from '../thread/pages.ts';
import { lowerPriority } from './lower-priority.ts';
import type { FromPortal, ToPortal } from './portal-messages.ts';
import { answerPort } from './portal-port.ts';

// This file runs in the portal's thread, which answers everything under /developers and /manage and sends queued mails. It
// has its own connections to the database, so that its writes never delay a lookup.

declare const self: { onmessage: (event: { data: ToPortal }) => void };

lowerPriority();

type App = ReturnType<typeof createPortalApp>;

/** The state of this thread. */
const thread = {
  config: null as Config | null,
  app: null as App | null,
  pages: null as Pages | null,
  sweeping: null as Timer | null,
  isStopping: false,
};

self.onmessage = ({ data }) => {
  if (data.kind === 'start') start(data.config);
  else if (data.kind === 'port') answerPort(data.port, async (request) => (thread.app as App).fetch(request));
  else if (data.kind === 'wake') wake();
  else if (data.kind === 'mails') void sendMails();
  else if (data.kind === 'stopping') beginStop();
  else void stop();
};

function post(message: FromPortal): void {
  postMessage(message);
}

function start(config: Config): void {
  thread.config = config;
  thread.app = createPortalApp({ config, open: openPages, report });
}

/** Opens the files unless they are open. If that throws, the next request tries again. */
function openPages(): Pages {
  thread.pages ??= startPages(thread.config as Config);
  renewSessions(thread.pages.access);
  return thread.pages;
}

/** Opens the files, which starts the sweep of old sessions. */
function wake(): void {
  try {
    thread.pages ??= startPages(thread.config as Config);
  } catch (cause) {
    report('warn', 'Expired sessions could not be deleted.', cause);
  }
}

async function sendMails(): Promise<void> {
  try {
    const deps = createMailDeps(thread.config as Config);
    post({ kind: 'mails', end: { isToPause: await sendNotices(deps, report, () => thread.isStopping) } });
  } catch (error) {
    const fault = error instanceof AppError ? error : new AppError('internal', null, { cause: error });
    const cause = fault.cause === undefined ? undefined : describeFault(fault.cause);
    post({ kind: 'mails', end: { code: fault.code, sentence: fault.message, cause } });
  }
}

function report(level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string): void {
  const described = cause === undefined ? undefined : describeFault(cause);
  post({ kind: 'event', event: { level, message, cause: described, requestId } });
}

function startPages(config: Config): Pages {
  const pages = createPages(openAccess(config), report);
  pages.isStopping = thread.isStopping;
  thread.sweeping = startSweeping(pages);
  return pages;
}

function beginStop(): void {
  thread.isStopping = true;
  if (thread.pages !== null) thread.pages.isStopping = true;
}

async function stop(): Promise<void> {
  beginStop();
  if (thread.sweeping !== null) clearInterval(thread.sweeping);
  if (thread.pages !== null) {
    await stopPages(thread.pages);
    closeAccess(thread.pages.access);
  }
  post({ kind: 'stopped' });
}
