import type { Db } from '../../db/connect.ts';
import { openBeside } from '../../db/open-beside.ts';
import { withTables } from '../../db/tables.ts';
import type { Deps, ServerDeps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { Outcome } from '../../keys/life/move.ts';
import type { Report } from '../../limits/ledger.ts';
import { hasDueNotice } from '../../outbox/lease.ts';
import { storeReminders } from '../../outbox/reminders.ts';
import { subjectInWords, undeliveredOf } from '../../outbox/undelivered.ts';
import { isWebhookDue } from '../../outbox/webhook-lease.ts';
import { sendAll } from './send.ts';
import { dropOldNotices } from './store.ts';

// Mails without a secret, and messages to the webhook, which only the server sends. What they tell of is stored with them in one transaction (`shared/outbox/notice.ts`); the command
// that did it sends them once, and the server then tries again, with growing pauses, for three days. A crash between the
// mail server's yes and the note of it sends a mail twice, and none is lost.

/** After this many failures in a row the mail server is left alone for a while. */
const MAX_FAILURES = 3;

/**
 * Sends the mails that an operation has stored, each once. Returns a sentence where somebody is not told yet, and the
 * operation's own where it stored none. Throws no refusal: the operation is done, and the server tries the mails again.
 */
export async function sendOnce(deps: Deps, { identifier, noticeIds, warning }: Outcome): Promise<string | null> {
  if (noticeIds.length === 0) return warning;
  const { db } = deps;
  try {
    const mailer = await deps.mailer();
    if (mailer === null)
      return 'Nobody is told yet: MAIL_URL is not set here. A running server that has it sends the mail.';
    const sending = { deps, db, mailer, report: () => undefined, isStopping: () => false, identifier };
    await sendAll({ ...sending, maxFailures: 1 });
    return warningOf(db, deps.clock.nowMs(), noticeIds);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `Nobody may have been told yet. ${error.message} ${AGAIN}`;
  }
}

const AGAIN = 'A running server tries again for three days.';

function warningOf(db: Db, nowMs: number, noticeIds: readonly number[]): string | null {
  const undelivered = undeliveredOf(db, nowMs, noticeIds);
  const refused = undelivered.find(({ result }) => result === 'refused');
  if (refused !== undefined) return `The notice was not delivered. ${refused.fault}`;
  // One that was tried and has no fault is just being sent by the server. A request that was not tried is told with others.
  const waiting = undelivered.find(({ kind, tries, fault }) => (tries === 0 ? kind !== 'request' : fault !== null));
  if (waiting === undefined) return null;
  return `The notice was not delivered yet. ${waiting.fault ?? 'An earlier one to the same recipient comes first.'} ${AGAIN}`;
}

/**
 * Stores the reminders that are due, where `isReminding`, and returns whether any notice is due now. Throws `busy`, and `refused` where the database can't be written.
 */
export function prepareNotices({ db, clock, config }: ServerDeps, isReminding: boolean): boolean {
  if (isReminding && config.mail !== null) {
    const beside = openBeside(config.databasePath);
    try {
      storeReminders(withTables({ $client: beside }), clock);
    } finally {
      beside.close();
    }
  }
  const nowMs = clock.nowMs();
  return hasDueNotice(withTables(db), nowMs) || isWebhookDue(withTables(db), nowMs);
}

/**
 * Drops what is too old, and sends what is due, also what becomes due while it waits for slow deliveries; ends early once
 * `isStopping`. It uses a connection of its own that waits for no lock. Each mail takes the thread some milliseconds, and its
 * disk two flushes: no thread that answers lookups calls this. Resolves to whether the mail server should be left alone for a
 * while. Throws `busy`, and `refused` where the database can't be written; what was not sent stays due.
 */
export async function sendNotices(
  deps: Pick<ServerDeps, 'clock' | 'config' | 'mailer'>,
  report: Report,
  isStopping = () => false,
): Promise<boolean> {
  const sqlite = openBeside(deps.config.databasePath);
  try {
    // What is claimed, and what came of it, survives a power cut.
    sqlite.run('PRAGMA synchronous = FULL');
    const db = withTables({ $client: sqlite });
    for (const dropped of dropOldNotices(db, deps)) {
      const mail = `The ${dropped.kind} mail about ${subjectInWords(dropped)}`;
      report('warn', `${mail} could not be delivered for three days and was dropped.`);
    }
    const mailer = await deps.mailer();
    return await sendAll({ deps, db, mailer, report, isStopping, identifier: null, maxFailures: MAX_FAILURES });
  } finally {
    sqlite.close();
  }
}
