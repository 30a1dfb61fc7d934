import { within } from '../../clock.ts';
import type { Db } from '../../db/connect.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { Report } from '../../limits/ledger.ts';
import { isMailAddress } from '../../mail/address.ts';
import type { Delivery, Mailer } from '../../mail/mail.ts';
import { type LeasedNotice, leaseNotice, type NoticeSubject } from '../../outbox/lease.ts';
import { WEBHOOK } from '../../outbox/notice.ts';
import { subjectInWords } from '../../outbox/undelivered.ts';
import { leaseForWebhook } from '../../outbox/webhook-lease.ts';
import { noticeMail } from './kinds.ts';
import { type Ending, endNotice } from './store.ts';
import { postToWebhook, webhookText } from './webhook.ts';

// Sends the due notices. The next delivery begins when the previous one has ended or is slow. So a responsive mail
// server gets one connection at a time, and a recipient whose mail hangs does not delay others.

/** After this many milliseconds, a delivery no longer delays the next one. */
const PATIENCE_MS = 1_000;

const MAX_OPEN = 16;

const RECHECK_MS = 1_000;

/**
 * How many times, and with what pause, storing the result of a delivery is tried. A mail with an unstored result is sent
 * again.
 */
const STORE_TRIES = 40;
const STORE_RETRY_MS = 250;

/** The parameters of sending: dependencies, a writable connection, the mailer, and a function that reports events. */
export type Sending = {
  deps: Pick<Deps, 'clock' | 'config'>;
  db: Db;
  /** Null if mail is not configured; then only webhook messages are sent. */
  mailer: Mailer | null;
  report: Report;
  isStopping: () => boolean;
  /** Only mails about this key or profile are sent; if null, everything, including webhook messages. */
  about: NoticeSubject | null;
  /** No delivery begins after this many consecutive failures of the mail server. */
  maxFailures: number;
};

/** The deliveries in progress by lane, the number of consecutive failures, and errors of this program. */
type Deliveries = { readonly open: Map<string, Promise<void>>; failures: number; readonly faults: unknown[] };

/**
 * Sends due notices, one at a time to each recipient. Resolves once none is due or in progress, to true if it stopped
 * because the mail server failed too often in a row. Throws `busy`, and `refused` if the database can't be written, but
 * only once no delivery is in progress.
 */
export async function sendAll(sending: Sending): Promise<boolean> {
  const deliveries: Deliveries = { open: new Map(), failures: 0, faults: [] };
  const { open, faults } = deliveries;
  for (;;) {
    const leased = leaseNext(sending, deliveries);
    if (leased !== null) await within(begin(sending, deliveries, leased), PATIENCE_MS);
    else if (open.size > 0) await within(Promise.race(open.values()), RECHECK_MS);
    else if (faults.length > 0) throw faults[0];
    else return deliveries.failures >= sending.maxFailures;
  }
}

/** Leases the next due notice for a recipient without a delivery in progress; null if none may begin now. */
function leaseNext(sending: Sending, { open, failures, faults }: Deliveries): LeasedNotice | null {
  const { deps, db, mailer, about, isStopping, maxFailures } = sending;
  if (isStopping() || faults.length > 0 || open.size >= MAX_OPEN) return null;
  try {
    const mayPost = about === null && deps.config.adminWebhook !== null && !open.has(WEBHOOK);
    const message = mayPost ? leaseForWebhook(db, deps.clock) : null;
    if (message !== null) return message;
    if (mailer === null || failures >= maxFailures) return null;
    const isSettled = deps.clock.settledMs() !== null;
    return leaseNotice(db, deps.clock, { about, busyLanes: [...open.keys()], isSettled });
  } catch (error) {
    // This connection still has to store the results of the deliveries in progress. Next time, a lock may be free, and a full
    // disk may have space.
    if (open.size === 0) throw error;
    return null;
  }
}

/** Starts a delivery. The promise resolves when it ends, and never rejects. */
function begin(sending: Sending, deliveries: Deliveries, leased: LeasedNotice): Promise<void> {
  const { open, faults } = deliveries;
  const ended = sendOne(sending, leased)
    .then((isServerUp) => {
      if (isServerUp !== null) deliveries.failures = isServerUp ? 0 : deliveries.failures + 1;
    })
    .catch((fault) => void faults.push(fault))
    .finally(() => open.delete(leased.lane));
  open.set(leased.lane, ended);
  return ended;
}

/**
 * Sends a leased notice and stores the result. False if the mail server did not accept any mail, null if it was not
 * contacted.
 */
async function sendOne(sending: Sending, leased: LeasedNotice): Promise<boolean | null> {
  const { config, clock } = sending.deps;
  if (leased.recipient === WEBHOOK) {
    if (config.adminWebhook === null) return null;
    const ending = await postToWebhook(config.adminWebhook, webhookText(leased, config), clock.nowMs());
    await store(sending, leased, ending);
    return null;
  }
  const to = addressOf(sending, leased);
  if (to === null) {
    const whose = leased.recipient.startsWith('admin') ? 'ADMIN_EMAIL' : 'The profile';
    await store(sending, leased, { result: 'failed', fault: `${whose} has no e-mail address.` });
    return true;
  }
  const mail = noticeMail(leased, { to, nowMs: clock.nowMs(), config });
  if (mail === null) {
    await store(sending, leased, { result: 'moot' });
    return true;
  }
  if (sending.mailer === null) return null;
  const delivery = await sending.mailer.send(mail);
  await store(sending, leased, endingOf(delivery));
  return delivery.outcome !== 'refused' || delivery.isServerDown !== true;
}

function addressOf({ deps }: Sending, { recipient, email, about }: LeasedNotice): string | null {
  if (recipient === 'owner') return email !== null && isMailAddress(email) ? email : null;
  if (recipient === 'former address') return 'formerEmail' in about ? about.formerEmail : null;
  return deps.config.adminEmails[Number(recipient.replace('admin ', '')) - 1] ?? null;
}

function endingOf(delivery: Delivery): Ending {
  if (delivery.outcome === 'accepted') return { result: 'accepted' };
  const isPermanent = delivery.outcome === 'refused' && delivery.isAddressRefused === true;
  return { result: isPermanent ? 'refused' : 'failed', fault: delivery.reason };
}

/**
 * Stores the result of a delivery, and reports it for a mail. If the database can't be written for ten seconds, reports
 * that.
 */
async function store({ deps, db, report }: Sending, leased: LeasedNotice, ending: Ending): Promise<void> {
  const { kind, key, uid, together, recipient } = leased;
  const others = together.length === 0 ? '' : ` and ${together.length} more`;
  const noun = recipient === WEBHOOK ? 'message to the webhook' : 'mail';
  const mail = `The ${kind} ${noun} about ${subjectInWords({ identifier: key?.identifier ?? null, uid })}${others}`;
  // Results of the webhook appear only in `status`.
  if (recipient !== WEBHOOK) reportEnding(report, mail, ending);
  for (let attempt = 0; attempt < STORE_TRIES; attempt++) {
    try {
      return endNotice(db, leased, ending, deps);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
    await Bun.sleep(STORE_RETRY_MS);
  }
  report('error', `${mail}: the result could not be stored, so it may be sent again.`);
}

function reportEnding(report: Report, mail: string, ending: Ending): void {
  if (ending.result === 'accepted') report('info', `${mail} was sent.`);
  else if (ending.result === 'refused') report('warn', `${mail} was refused permanently. ${ending.fault}`);
  else if (ending.result === 'failed') report('warn', `${mail} has not been delivered yet. ${ending.fault}`);
}
