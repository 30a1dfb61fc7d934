import { within } from '../../shared/clock.ts';
import { knownError } from '../../shared/db/faults.ts';
import { dropErasedProfiles } from '../../shared/erasure.ts';
import { dropOldMails, isMailDue, sendDueMails } from '../../shared/mail/delivery.ts';
import { storeReminders } from '../../shared/mail/reminders.ts';
import { sweepSignIns } from '../../shared/sign-in/sessions.ts';
import { dropOldUsage } from '../../shared/usage/usage.ts';
import type { Service } from '../service.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The state of the searches for queued mails. */
type Search = {
  /** Once it is stopping, no further mail is sent. */
  readonly service: Pick<Service, 'deps' | 'log' | 'isStopping'>;
  /** When {@link doChores} and the sweep of sign-ins are due, by the monotonic clock. */
  choresAtMs: number;
  sweepAtMs: number;
  /** The error of the last search, null if it succeeded: the same error is logged once. */
  lastFault: string | null;
};

/** The first search is delayed: preparing its queries takes a sixth of the time of the start, and would delay requests. */
const FIRST_AFTER_MS = 100;

/** The time between searches for mails that commands could not deliver. */
const SEARCH_MS = 5_000;

/** The time until the next search if the database is locked or can't be written. */
const PAUSE_MS = 60_000;

const CHORES_EVERY_MS = 3_600_000;

/** So that clients' IP addresses are stored no longer than promised, even if nobody opens a page. */
const SWEEP_EVERY_MS = 60_000;

/**
 * How long a server runs before it deletes or ends anything because of its age, so that a clock that is wrong when the machine
 * starts loses nothing.
 */
export const TRUSTED_AFTER_MS = 600_000;

/** How long stopping waits for the mail that is being sent. */
const STOP_MS = 10_000;

/**
 * Searches periodically for due mails, sends them until the server stops, deletes expired sign-ins each minute, and does the
 * hourly chores. Errors are logged, and the next search retries.
 */
export function startOutboxTimer(service: Search['service']): Repeating {
  const trustedAtMs = service.deps.clock.monotonicMs() + TRUSTED_AFTER_MS;
  const state: Search = { service, choresAtMs: trustedAtMs, sweepAtMs: trustedAtMs, lastFault: null };
  const timer = repeat(() => search(state), FIRST_AFTER_MS);
  return { ...timer, stop: async () => void (await within(timer.stop(), STOP_MS)) };
}

/** Searches once. Resolves to the milliseconds until the next search. */
async function search(state: Search): Promise<number> {
  const { deps, log } = state.service;
  let isToPause = true;
  try {
    // A slow mail server may take hours for all that is due.
    const isInterrupted = () => state.service.isStopping || deps.clock.monotonicMs() >= state.sweepAtMs;
    if (isMailDue(deps)) await sendDueMails(deps, log.event, isInterrupted);
    const nowMs = deps.clock.monotonicMs();
    if (nowMs >= state.sweepAtMs) {
      sweepSignIns(deps);
      state.sweepAtMs = nowMs + SWEEP_EVERY_MS;
    }
    if (nowMs >= state.choresAtMs && !doChores(state.service)) state.choresAtMs = nowMs + CHORES_EVERY_MS;
    isToPause = false;
    state.lastFault = null;
  } catch (error) {
    const cause = knownError(deps.config.databasePath, error);
    const { message, code } = cause;
    // A locked database is not logged at all.
    if (code !== 'busy' && message !== state.lastFault)
      log.event('error', 'Could not check for queued mails and old rows.', { cause });
    state.lastFault = message;
  }
  return isToPause ? PAUSE_MS : SEARCH_MS;
}

/** Stores some due reminders, and drops some of what is too old. Returns whether more of that may be left. */
function doChores({ deps: { db, clock, config }, log }: Search['service']): boolean {
  const nowMs = clock.nowMs();
  return [
    config.mail !== null && storeReminders(db, nowMs, config),
    dropOldMails(db, nowMs, log.event),
    dropOldUsage(db.$client, nowMs),
    dropErasedProfiles(db.$client, nowMs),
  ].includes(true);
}
