import type { Config } from '../../shared/config/config.ts';
import { createMailDeps } from '../../shared/deps.ts';
import { AppError } from '../../shared/errors.ts';
import { sendDueMails } from '../../shared/mail/outbox.ts';
import { closeAccess, openAccess, renewSessions } from '../../shared/sessions-file/open-access.ts';
import { collectAfterStart } from '../observability/collector.ts';
import { describeFault } from '../observability/log.ts';
import { createPortalApp } from '../portal/app.ts';
import { createPortalServices, stopPortalServices } from '../portal/services.ts';
import { startSweeping } from '../portal/sign-in/sweeping.ts';
import type { PortalServices } from '../thread/portal-services.ts';
import { lowerPriority } from './lower-priority.ts';
import type { FromPortal, ToPortal } from './portal-messages.ts';
import { answerPort } from './portal-port.ts';

// This file runs in the portal's thread, which answers requests under /developers and /manage and sends queued mails. It has
// its own connections to the database, so that its writes never delay a lookup.

declare const self: { onmessage: (event: { data: ToPortal }) => void };

lowerPriority();
collectAfterStart();

/** The state of this thread once it has received its configuration, the first message. */
type Thread = {
  readonly config: Config;
  readonly app: ReturnType<typeof createPortalApp>;
  services: PortalServices | null;
  sweeping: Timer | null;
  isStopping: boolean;
};

let thread: Thread | null = null;

self.onmessage = ({ data }) => {
  if (data.kind === 'start') thread = start(data.config);
  else if (thread !== null) receive(thread, data);
};

function start(config: Config): Thread {
  const started: Thread = {
    config,
    app: createPortalApp({ config, open: () => openServices(started), report }),
    services: null,
    sweeping: null,
    isStopping: false,
  };
  return started;
}

function receive(thread: Thread, message: Exclude<ToPortal, { kind: 'start' }>): void {
  const { app } = thread;
  if (message.kind === 'port') answerPort(message.port, async (request) => app.fetch(request));
  else if (message.kind === 'wake') wake(thread);
  else if (message.kind === 'mails') void sendMails(thread);
  else if (message.kind === 'stopping') beginStop(thread);
  else void stop(thread);
}

function post(message: FromPortal): void {
  postMessage(message);
}

/** Opens the files unless they are open. If that throws, the next request retries. */
function openServices(thread: Thread): PortalServices {
  thread.services ??= startServices(thread);
  renewSessions(thread.services.access);
  return thread.services;
}

/** Opens the files, and thereby starts the sweep of old sessions. */
function wake(thread: Thread): void {
  try {
    thread.services ??= startServices(thread);
  } catch (cause) {
    report('warn', 'Expired sessions could not be deleted.', cause);
  }
}

async function sendMails(thread: Thread): Promise<void> {
  try {
    const deps = createMailDeps(thread.config);
    await sendDueMails(deps, report, () => thread.isStopping);
    post({ kind: 'mails', end: null });
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

function startServices(thread: Thread): PortalServices {
  const services = createPortalServices(openAccess(thread.config), report);
  services.isStopping = thread.isStopping;
  thread.sweeping = startSweeping(services);
  return services;
}

function beginStop(thread: Thread): void {
  thread.isStopping = true;
  if (thread.services !== null) thread.services.isStopping = true;
}

async function stop(thread: Thread): Promise<void> {
  beginStop(thread);
  if (thread.sweeping !== null) clearInterval(thread.sweeping);
  if (thread.services !== null) {
    await stopPortalServices(thread.services);
    closeAccess(thread.services.access);
  }
  post({ kind: 'stopped' });
}
