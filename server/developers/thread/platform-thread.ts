import { closeAccess, openAccess, renewSessions } from '../../../shared/access/open.ts';
import type { Config } from '../../../shared/config/config.ts';
import { createMailDeps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { sendNotices } from '../../../shared/notices/deliver.ts';
import { describeFault } from '../../observability/log.ts';
import type { FromPlatform, PlatformEvent, ToPlatform } from '../messages.ts';
import { createPages, stopPages } from '../pages.ts';
import { startSweeping } from '../sweeping.ts';
import type { Pages } from '../visit.ts';
import { answerRequest, refuseRequest } from './answer.ts';
import { giveWay } from './give-way.ts';

// This file runs in the platform thread, which answers all pages under /developers and sends the mails that are due. It has
// its own connections to the database, so that no write of a page or for a mail keeps a lookup waiting.

declare const self: { onmessage: (event: { data: ToPlatform }) => void };

giveWay();

/** What this thread has been told and has opened. */
const thread = {
  config: null as Config | null,
  pages: null as Pages | null,
  sweeping: null as Timer | null,
  isStopping: false,
};

self.onmessage = ({ data }) => {
  if (data.kind === 'start') thread.config = data.config;
  else if (data.kind === 'page') void answer(data);
  else if (data.kind === 'wake') wake();
  else if (data.kind === 'mails') void sendMails();
  else if (data.kind === 'stopping') beginStop();
  else void stop();
};

function post(message: FromPlatform): void {
  postMessage(message);
}

async function answer({ id, request }: Extract<ToPlatform, { kind: 'page' }>): Promise<void> {
  const config = thread.config as Config;
  try {
    thread.pages ??= openPages(config);
    renewSessions(thread.pages.access);
    post({ kind: 'answer', id, answer: await answerRequest(thread.pages, request) });
  } catch (error) {
    // The database could not be opened. The next request tries again.
    post({ kind: 'answer', id, answer: refuseRequest(config, request, error) });
  }
}

/** Opens the files, which begins to sweep them. */
function wake(): void {
  try {
    thread.pages ??= openPages(thread.config as Config);
  } catch (cause) {
    report('warn', 'Sessions that are over could not be deleted.', cause);
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

function report(level: PlatformEvent['level'], message: string, cause?: unknown): void {
  post({ kind: 'event', event: { level, message, cause: cause === undefined ? undefined : describeFault(cause) } });
}

function openPages(config: Config): Pages {
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
