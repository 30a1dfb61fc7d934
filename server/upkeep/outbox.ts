import { within } from '../../shared/clock.ts';
import { dropErasedProfiles } from '../../shared/db/erasures.ts';
import { openBeside } from '../../shared/db/open-beside.ts';
import { withTables } from '../../shared/db/tables.ts';
import type { AppError } from '../../shared/errors.ts';
import { storeReminders } from '../../shared/mail/reminders.ts';
import type { Service } from '../service.ts';
import { type Repeating, repeat } from './repeating.ts';

/** The state of the searches for queued mails and expired keys. */
type Search = {
  readonly deps: Service['deps'];
  readonly log: Service['log'];
  /** See {@link startOutboxTimer}. */
  readonly send: () => Promise<void>;
  /** When to search for keys that expire soon, by the monotonic clock. */
  remindAtMs: number;
  /** When to search for ids of erased profiles that no longer have to be kept, by the monotonic clock. */
  dropAtMs: number;
  /** The error of the last search, null if it succeeded: the same error is logged once. */
  lastFault: string | null;
};

/** The first search is delayed: preparing its queries takes a sixth of the time of the start, and would delay requests. */
const FIRST_AFTER_MS = 100;

/** The time between searches for mails that commands could not deliver, and for expired keys. */
const SEARCH_MS = 5_000;

/** The time until the next search if the database is locked or can't be written. */
const PAUSE_MS = 60_000;

/** The time between searches for keys that expire soon, and for ids of erased profiles that no longer have to be kept. */
const REMIND_MS = 3_600_000;

/** How long stopping waits for the mail that is being sent. */
const STOP_MS = 10_000;

/**
 * Searches periodically for due mails without a secret, and for expired keys. `send` sends the mails in another thread. Errors are logged, and the next search retries.
 */
export function startOutboxTimer({ deps, log }: Pick<Service, 'deps' | 'log'>, send: () => Promise<void>): Repeating {
  const nowMs = deps.clock.monotonicMs();
  const state: Search = { deps, log, send, remindAtMs: nowMs, dropAtMs: nowMs, lastFault: null };
  const timer = repeat(() => search(state), FIRST_AFTER_MS);
  return { ...timer, stop: async () => void (await within(timer.stop(), STOP_MS)) };
}

/** Searches once. Resolves to the milliseconds until the next search. */
async function search(state: Search): Promise<number> {
  const { deps, log } = state;
  let isToPause = true;
  try {
    const { isMailDue } = await import('../../shared/mail/outbox.ts');
    const { expireKeys } = await import('../../shared/keys/life/expire.ts');
    const nowMs = deps.clock.monotonicMs();
    const isReminding = nowMs >= state.remindAtMs && deps.clock.settledMs() !== null;
    if (isReminding) {
      remind(deps);
      state.remindAtMs = nowMs + REMIND_MS;
    }
    if (isMailDue(deps)) await state.send();
    isToPause = false;
    expireKeys(deps);
    dropOldErasures(state, nowMs);
    state.lastFault = null;
  } catch (cause) {
    const { message, code } = cause as AppError;
    // A locked database is not logged at all.
    if (code !== 'busy' && message !== state.lastFault)
      log.event('error', 'Could not check for queued mails and expired keys.', { cause });
    state.lastFault = message;
  }
  return isToPause ? PAUSE_MS : SEARCH_MS;
}

/** Stores the due reminders. */
function remind({ clock, config }: Service['deps']): void {
  if (config.mail === null) return;
  using beside = openBeside(config.databasePath);
  storeReminders(withTables({ $client: beside }), clock, config);
}

/** Deletes the ids of profiles erased long ago, every hour; if there are many, one batch per search. */
function dropOldErasures(state: Search, nowMs: number): void {
  const { db, clock } = state.deps;
  if (nowMs < state.dropAtMs || clock.settledMs() === null) return;
  if (!dropErasedProfiles(db, clock)) state.dropAtMs = nowMs + REMIND_MS;
}
