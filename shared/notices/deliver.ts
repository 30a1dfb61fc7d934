import type { Sqlite } from '../db/connect.ts';
import { openBeside } from '../db/open.ts';
import type { Deps, ServerDeps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Outcome, Step } from '../keys/lifecycle.ts';
import type { Report } from '../limits/ledger.ts';
import { isMailAddress } from '../mail/address.ts';
import type { Delivery, Mailer } from '../mail/mail.ts';
import { type Claimed, claimNotice, hasDueNotice } from './claim.ts';
import { noticeMail } from './kinds.ts';
import { storeReminders } from './reminders.ts';
import { dropOldNotices, type Ending, endNotice } from './store.ts';
import { subjectInWords, undeliveredOf } from './undelivered.ts';

// Mails without a secret. What they tell of is stored with them in one transaction (`shared/keys/notice.ts`); the command
// that did it sends them once, and the server then tries again, with growing pauses, for three days. A crash between the
// mail server's yes and the note of it sends a mail twice, and none is lost.

/** What came of a try is stored so often, and so far apart, since otherwise the mail goes out again. */
const STORE_TRIES = 40;
const STORE_RETRY_MS = 250;

/** After so many failures in a row the server leaves the mail server alone for a while. */
const MAX_FAILURES = 3;

/** Everything that sending needs: dependencies, a connection that may write, the mailer, and who is told what happens. */
type Sending = {
  deps: Pick<Deps, 'clock' | 'config'>;
  sqlite: Sqlite;
  mailer: Mailer;
  report: Report;
  isStopping: () => boolean;
  /** Only notices about this key are sent; null for all. */
  identifier: string | null;
  maxFailures: number;
};

/**
 * Sends the mails that a step in the life of a key has stored, each once. Returns the step's outcome, with a sentence
 * where somebody is not told yet. Never throws: the step itself is done, and the server tries the mails again.
 */
export async function sendOnce(deps: Deps, { identifier, noticeIds, warning }: Step): Promise<Outcome> {
  if (noticeIds.length === 0) return { identifier, warning: warning ?? null };
  const sqlite = deps.db.$client;
  try {
    const mailer = await deps.mailer();
    if (mailer === null)
      return {
        identifier,
        warning: 'Nobody is told yet: MAIL_URL is not set here. A running server that has it sends the mail.',
      };
    const sending = { deps, sqlite, mailer, report: () => undefined, isStopping: () => false, identifier };
    await sendAll({ ...sending, maxFailures: 1 });
    return { identifier, warning: warningOf(sqlite, deps.clock.nowMs(), noticeIds) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { identifier, warning: `Nobody may have been told yet. ${error.message} ${AGAIN}` };
  }
}

const AGAIN = 'A running server tries again for three days.';

function warningOf(sqlite: Sqlite, nowMs: number, noticeIds: readonly number[]): string | null {
  const undelivered = undeliveredOf(sqlite, nowMs, noticeIds);
  const refused = undelivered.find(({ result }) => result === 'refused');
  if (refused !== undefined) return `The notice was not delivered. ${refused.fault}`;
  // One that was tried and has no fault is just being sent by the server. A request that was not tried is told with others.
  const waiting = undelivered.find(({ kind, tries, fault }) => (tries === 0 ? kind !== 'request' : fault !== null));
  if (waiting === undefined) return null;
  return `The notice was not delivered yet. ${waiting.fault ?? 'An earlier one to the same recipient comes first.'} ${AGAIN}`;
}

/**
 * Stores the reminders that are due where `withReminders` says so, and returns whether any notice is due. Throws `busy`, and
 * `refused` where the database can't be written.
 */
export function prepareNotices({ db, clock, config }: ServerDeps, withReminders: boolean): boolean {
  if (withReminders && config.mail !== null) {
    const sqlite = openBeside(config.databasePath);
    try {
      storeReminders(sqlite, clock.nowMs());
    } finally {
      sqlite.close();
    }
  }
  return hasDueNotice(db.$client, clock.nowMs());
}

/**
 * Drops what is too old, and sends what is due, one after the other; ends early once `isStopping`. It uses a connection of
 * its own that waits for no lock. Each mail takes the thread some milliseconds, and its disk two flushes: no thread that
 * answers lookups calls this. Resolves to whether the mail server should be left alone for a while. Throws `busy`, and
 * `refused` where the database can't be written; what was not sent stays due.
 */
export async function sendNotices(
  deps: Pick<ServerDeps, 'clock' | 'config' | 'mailer'>,
  report: Report,
  isStopping = () => false,
): Promise<boolean> {
  const { clock, config } = deps;
  const sqlite = openBeside(config.databasePath);
  try {
    // What is claimed, and what came of it, survives a power cut.
    sqlite.run('PRAGMA synchronous = FULL');
    for (const dropped of dropOldNotices(sqlite, clock.nowMs())) {
      const mail = `The ${dropped.kind} mail about ${subjectInWords(dropped)}`;
      report('warn', `${mail} could not be delivered for three days and was dropped.`);
    }
    const mailer = await deps.mailer();
    if (mailer === null) return false;
    return await sendAll({ deps, sqlite, mailer, report, isStopping, identifier: null, maxFailures: MAX_FAILURES });
  } finally {
    sqlite.close();
  }
}

/** Sends what is due; true where it ended since too many in a row could not be handed over. */
async function sendAll(sending: Sending): Promise<boolean> {
  const { deps, sqlite, identifier } = sending;
  let failures = 0;
  while (!sending.isStopping()) {
    if (failures >= sending.maxFailures) return true;
    const claimed = claimNotice(sqlite, deps.clock.nowMs(), identifier);
    if (claimed === null) return false;
    failures = (await sendOne(sending, claimed)) ? 0 : failures + 1;
  }
  return false;
}

/** Sends a claimed notice and stores what came of it. False where the mail server could not take it now. */
async function sendOne(sending: Sending, claimed: Claimed): Promise<boolean> {
  const { config, clock } = sending.deps;
  const to = addressOf(sending, claimed);
  if (to === null) {
    const whose = claimed.recipient.startsWith('admin') ? 'ADMIN_EMAIL' : 'The profile';
    await store(sending, claimed, { result: 'failed', fault: `${whose} has no e-mail address for it.` });
    return true;
  }
  const mail = noticeMail(claimed, { to, nowMs: clock.nowMs(), config });
  if (mail === null) {
    await store(sending, claimed, { result: 'moot' });
    return true;
  }
  const delivery = await sending.mailer.send(mail);
  const ending = endingOf(delivery);
  await store(sending, claimed, ending);
  return ending.result !== 'failed';
}

/** The recipient's address at this moment; null where there is none. */
function addressOf({ deps }: Sending, { recipient, email, about }: Claimed): string | null {
  if (recipient === 'owner') return email !== null && isMailAddress(email) ? email : null;
  if (recipient === 'former address') return 'formerEmail' in about ? about.formerEmail : null;
  return deps.config.adminEmails[Number(recipient.replace('admin ', '')) - 1] ?? null;
}

function endingOf(delivery: Delivery): Ending {
  if (delivery.outcome === 'accepted') return { result: 'accepted' };
  const isForGood = delivery.outcome === 'refused' && delivery.isAddressRefused === true;
  return { result: isForGood ? 'refused' : 'failed', fault: delivery.reason };
}

/** Stores what came of a try, and reports it. Where the database can't be written for ten seconds, that is reported. */
async function store({ deps, sqlite, report }: Sending, claimed: Claimed, ending: Ending): Promise<void> {
  const { kind, key, uid, together } = claimed;
  const others = together.length === 0 ? '' : ` and ${together.length} more`;
  const mail = `The ${kind} mail about ${subjectInWords({ identifier: key?.identifier ?? null, uid })}${others}`;
  if (ending.result === 'accepted') report('info', `${mail} was sent.`);
  else if (ending.result === 'refused') report('warn', `${mail} was refused for good. ${ending.fault}`);
  else if (ending.result === 'failed') report('warn', `${mail} was not delivered yet. ${ending.fault}`);
  for (let turn = 0; turn < STORE_TRIES; turn++) {
    try {
      return endNotice(sqlite, claimed, ending, deps.clock.nowMs());
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
    await Bun.sleep(STORE_RETRY_MS);
  }
  report('error', `${mail}: what came of it could not be stored, so it may be sent again.`);
}
