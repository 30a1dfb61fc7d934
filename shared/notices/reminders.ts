import { DAY_MS } from '../clock.ts';
import type { ReminderResult } from '../db/key-columns.ts';
import type { ServerDeps } from '../deps.ts';
import { AppError } from '../errors.ts';
import type { Report } from '../limits/ledger.ts';
import { isMailAddress } from '../mail/address.ts';
import type { Delivery, Mailer } from '../mail/mail.ts';
import { type ExpiringKey, openReminderStore, type ReminderStore } from './reminder-store.ts';

// Owners are told 30 days, 7 days and 1 day before a key expires, each at most once for one expiry: that it is tried is
// written down, synced, before the mail goes out, and what became of it after. A crash between the two loses a reminder
// rather than sending it twice; the next step is one of its own. A key whose expiry was changed is reminded anew.

/** So many days before the end. */
export const REMINDER_STEPS_DAYS = [30, 7, 1] as const;

/** Where a mail server refused an address for good, it is asked again so much later. */
const REFUSED_AGAIN_MS = DAY_MS;

/** After so many mails in a row that could not be handed over, the mail server is left alone until the next time. */
const MAX_FAILURES = 3;

/** What became of a mail is tried to be stored so often, and so far apart. */
const STORE_TRIES = 40;
const STORE_RETRY_MS = 250;

/**
 * The step that is due, if any: the last one that has begun, unless the key got this expiry after its beginning: the mail
 * about that has just said when it ends. Steps that were missed, while the server was down, are not made up for.
 */
export function dueStep(key: { expirySetAt: number; expiresAt: number }, nowMs: number): number | null {
  const leftMs = key.expiresAt - nowMs;
  if (leftMs <= 0) return null;
  const step = REMINDER_STEPS_DAYS.findLast((days) => leftMs <= days * DAY_MS);
  return step !== undefined && key.expiresAt - key.expirySetAt > step * DAY_MS ? step : null;
}

/**
 * Mails what is due now, one after the other; ends early once `isStopping`. Resolves to whether something should be tried
 * again soon, since the database was locked. Never makes a request wait. Throws `refused` where the database can't be used.
 */
export async function sendReminders(deps: ServerDeps, report: Report, isStopping = () => false): Promise<boolean> {
  if (deps.config.mail === null) return false;
  const store = openReminderStore(deps.config.databasePath);
  try {
    const due = dueNow(deps, store);
    if (due.length === 0) return false;
    const mailer = await deps.mailer();
    return mailer === null ? false : await sendAll(deps, { store, mailer, report, isStopping }, due);
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return true;
    throw error;
  } finally {
    store.close();
  }
}

type Due = { key: ExpiringKey; step: number };
type Means = { store: ReminderStore; mailer: Mailer; report: Report; isStopping: () => boolean };

function dueNow({ clock }: ServerDeps, store: ReminderStore): Due[] {
  const nowMs = clock.nowMs();
  return store.expiring(nowMs, nowMs + REMINDER_STEPS_DAYS[0] * DAY_MS).flatMap((key) => {
    const step = dueStep(key, nowMs);
    return step === null || !isReachable(key) || !isOpen(store, key, step, nowMs) ? [] : { key, step };
  });
}

function isReachable({ email, isBanned }: ExpiringKey): boolean {
  return !isBanned && email !== null && isMailAddress(email);
}

function isOpen(store: ReminderStore, key: ExpiringKey, step: number, nowMs: number): boolean {
  const last = store.last(key, step);
  if (last === null || last.result === 'to be repeated') return true;
  return last.result === 'refused' && last.at <= nowMs - REFUSED_AGAIN_MS;
}

async function sendAll(deps: ServerDeps, means: Means, due: readonly Due[]): Promise<boolean> {
  let failures = 0;
  for (const { key, step } of due) {
    if (means.isStopping() || failures >= MAX_FAILURES) return false;
    const result = await sendOne(deps, means, key.identifier, step);
    failures = result === 'to be repeated' ? failures + 1 : 0;
  }
  return false;
}

/** Null where there is nothing to send any more. Throws `busy`. */
async function sendOne(
  deps: ServerDeps,
  { store, mailer, report }: Means,
  identifier: string,
  step: number,
): Promise<ReminderResult | null> {
  const nowMs = deps.clock.nowMs();
  // Looked at again under the lock: meanwhile it may have been revoked, or somebody else may have begun.
  const key = store.begin(identifier, step, nowMs, (found) => {
    return dueStep(found, nowMs) === step && isReachable(found) && isOpen(store, found, step, nowMs);
  });
  if (key === null) return null;
  const { reminderMail } = await import('./reminder-mail.ts');
  const delivery = await mailer.send(
    reminderMail({
      to: key.email as string,
      identifier,
      keyName: key.name,
      expiresAtMs: key.expiresAt,
      daysLeft: Math.ceil((key.expiresAt - nowMs) / DAY_MS),
      publicUrl: deps.config.publicUrl,
    }),
  );
  const result = resultOf(delivery);
  const what = `The reminder that key ${identifier} expires within ${step === 1 ? 'a day' : `${step} days`}`;
  if (delivery.outcome === 'accepted') report('info', `${what} was sent.`);
  else report('warn', `${what} was not delivered (${result}). ${delivery.reason}`);
  if (!(await storeResult(store, key, step, result, deps.clock.nowMs()))) {
    report('error', `${what}: what became of it could not be stored, so it will not be repeated.`);
  }
  return result;
}

function resultOf(delivery: Delivery): ReminderResult {
  if (delivery.outcome === 'accepted') return 'accepted';
  if (delivery.outcome === 'unknown') return 'not confirmed';
  return delivery.permanent ? 'refused' : 'to be repeated';
}

async function storeResult(
  store: ReminderStore,
  key: ExpiringKey,
  step: number,
  result: ReminderResult,
  nowMs: number,
): Promise<boolean> {
  for (let turn = 0; turn < STORE_TRIES; turn++) {
    try {
      store.end(key, step, result, nowMs);
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
    await Bun.sleep(STORE_RETRY_MS);
  }
  return false;
}
