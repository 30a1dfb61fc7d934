import type { Db } from '../../db/connect.ts';
import { openBeside } from '../../db/open-beside.ts';
import { withTables } from '../../db/tables.ts';
import type { Deps, ServerDeps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { Report } from '../../limits/ledger.ts';
import { hasDueNotice, type NoticeSubject } from '../../outbox/lease.ts';
import { storeReminders } from '../../outbox/reminders.ts';
import { subjectInWords, undeliveredOf } from '../../outbox/undelivered.ts';
import { isWebhookDue } from '../../outbox/webhook-lease.ts';
import { sendAll } from './send.ts';
import { dropOldNotices } from './store.ts';

// Delivers mails without a secret, and webhook messages. Each is stored in the same transaction as its event
// (`shared/outbox/notice.ts`). The command that caused a mail tries to send it once; after that the server retries,
// with growing pauses, for three days. Only the server sends webhook messages. After a crash between the mail server's
// acceptance and its recording, a mail is sent twice; none is lost.

/** The mail server gets a pause after this many consecutive failures. */
const MAX_FAILURES = 3;

/**
 * Sends the mails of a command once, and before them other due mails about the same key or profile. Returns a sentence
 * if somebody could not be notified yet. Throws no refusal: the command has done its work, and the server retries the
 * mails.
 */
export async function sendOnce(deps: Deps, about: NoticeSubject, noticeIds: readonly number[]): Promise<string | null> {
  if (noticeIds.length === 0) return null;
  const { db } = deps;
  try {
    const mailer = await deps.mailer();
    if (mailer === null)
      return 'The mail has not been sent yet, because MAIL_URL is not set here. A running server with MAIL_URL sends it.';
    const sending = { deps, db, mailer, report: () => undefined, isStopping: () => false, about };
    await sendAll({ ...sending, maxFailures: 1 });
    return warningOf(db, deps.clock.nowMs(), noticeIds);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `The mail may not have been sent yet. ${error.message} ${RETRIED}`;
  }
}

const RETRIED = 'A running server retries for three days.';

function warningOf(db: Db, nowMs: number, noticeIds: readonly number[]): string | null {
  const undelivered = undeliveredOf(db, nowMs, noticeIds);
  const refused = undelivered.find(({ result }) => result === 'refused');
  if (refused !== undefined) return `The mail was not delivered. ${refused.fault}`;
  // A mail that was tried and has no fault is being sent by the server. An untried mail about a request waits to be
  // sent together with others.
  const waiting = undelivered.find(({ kind, tries, fault }) => (tries === 0 ? kind !== 'request' : fault !== null));
  if (waiting === undefined) return null;
  return `The mail has not been delivered yet. ${waiting.fault ?? 'It follows an earlier mail to the same recipient.'} ${RETRIED}`;
}

/**
 * Stores the due reminders, if `isReminding`, and returns whether any notice is due now. Throws `refused` if the
 * database can't be written.
 */
export function prepareNotices({ db, clock, config }: ServerDeps, isReminding: boolean): boolean {
  if (isReminding && config.mail !== null) {
    using beside = openBeside(config.databasePath);
    storeReminders(withTables({ $client: beside }), clock);
  }
  const nowMs = clock.nowMs();
  return hasDueNotice(withTables(db), nowMs) || isWebhookDue(withTables(db), nowMs);
}

/**
 * Drops notices that are too old and sends those that are due, including those that become due during slow deliveries;
 * stops early once `isStopping`. Uses a separate connection that does not wait for locks. Each mail takes a few
 * milliseconds of the thread and two disk flushes, so threads that serve lookups do not call this. Resolves to whether
 * the mail server should get a pause. Throws `refused` if the database can't be written; unsent notices stay due.
 */
export async function sendNotices(
  deps: Pick<ServerDeps, 'clock' | 'config' | 'mailer'>,
  report: Report,
  isStopping = () => false,
): Promise<boolean> {
  using sqlite = openBeside(deps.config.databasePath);
  const db = withTables({ $client: sqlite });
  for (const dropped of dropOldNotices(db, deps)) {
    const mail = `The ${dropped.kind} mail about ${subjectInWords(dropped)}`;
    report('warn', `${mail} could not be delivered for three days and was dropped.`);
  }
  const mailer = await deps.mailer();
  return await sendAll({ deps, db, mailer, report, isStopping, about: null, maxFailures: MAX_FAILURES });
}
