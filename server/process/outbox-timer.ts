import { within } from '../../shared/clock.ts';
import { dropErasedProfiles } from '../../shared/db/erasures.ts';
import type { AppError } from '../../shared/errors.ts';
import { type Repeating, repeat } from './repeating.ts';
import type { Service } from './service.ts';

/** What the searches for queued mails and expired keys work with. */
type Search = {
  readonly deps: Service['deps'];
  readonly log: Service['log'];
  /** Sends the mails that are due, in another thread; see {@link startOutboxTimer}. */
  readonly send: () => Promise<boolean>;
  /** When to look for keys that expire soon, by the monotonic clock. */
  remindAtMs: number;
  /** When to look for ids of erased profiles that no longer have to be kept, by the monotonic clock. */
  dropAtMs: number;
  /** The fault of the last search, null if it succeeded: a fault that lasts is logged once. */
  lastFault: string | null;
};

/**
 * How long after the start the first search begins. Loading and preparing its queries takes as much processor time as a
 * sixth of the start, which the first requests need not wait for.
 */
const FIRST_AFTER_MS = 100;

/** How often the server looks for mails that commands could not deliver, and for keys that have expired. */
const LOOK_MS = 5_000;

/** How long it waits if the mail server accepts nothing, or the database is locked or can't be written. */
const PAUSE_MS = 60_000;

/** How often it looks for keys that expire soon, and for ids of erased profiles that no longer have to be kept. */
const REMIND_MS = 3_600_000;

/** How long stopping waits for the mail that is being sent. */
const STOP_MS = 10_000;

/**
 * Searches periodically for queued mails without a secret that are due, and for keys that have expired. `send` sends the mails
 * and resolves to whether to pause before the next ones. Faults are logged, and the next search tries again.
 */
export function startOutboxTimer(
  { deps, log }: Pick<Service, 'deps' | 'log'>,
  send: () => Promise<boolean>,
): Repeating {
  const nowMs = deps.clock.monotonicMs();
  const state: Search = { deps, log, send, remindAtMs: nowMs, dropAtMs: nowMs, lastFault: null };
  const timer = repeat(() => search(state), FIRST_AFTER_MS);
  return { ...timer, stop: async () => void (await within(timer.stop(), STOP_MS)) };
}

/** Searches once. Resolves to how many milliseconds later to search again. */
async function search(state: Search): Promise<number> {
  const { deps, log } = state;
  let isToPause = true;
  try {
    const { prepareNotices } = await import('../../shared/upkeep/delivery/deliver.ts');
    const { expireKeys } = await import('../../shared/keys/life/expire.ts');
    const nowMs = deps.clock.monotonicMs();
    const isReminding = nowMs >= state.remindAtMs && deps.clock.settledMs() !== null;
    isToPause = prepareNotices(deps, isReminding) ? await state.send() : false;
    if (isReminding) state.remindAtMs = nowMs + REMIND_MS;
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
  return isToPause ? PAUSE_MS : LOOK_MS;
}

/** Deletes, every hour, the ids of profiles erased long ago; if there are many, a batch with each search. */
function dropOldErasures(state: Search, nowMs: number): void {
  const { db, clock } = state.deps;
  if (nowMs < state.dropAtMs || clock.settledMs() === null) return;
  if (!dropErasedProfiles(db, clock)) state.dropAtMs = nowMs + REMIND_MS;
}
