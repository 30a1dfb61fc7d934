import { dropErasedProfiles } from '../../shared/db/erasures.ts';
import type { AppError } from '../../shared/errors.ts';
import type { Service } from './service.ts';

/** The periodic search for queued mails without a secret that are due, and for keys that have expired. */
export type OutboxTimer = {
  readonly deps: Service['deps'];
  readonly log: Service['log'];
  /** Sends the mails that are due, in another thread; see {@link startOutboxTimer}. */
  readonly send: () => Promise<boolean>;
  isStopping: boolean;
  /** When to look for keys that expire soon, by the monotonic clock. */
  remindAtMs: number;
  /** When to look for ids of erased profiles that no longer have to be kept, by the monotonic clock. */
  dropAtMs: number;
  /** The fault of the last search, null if it succeeded: a fault that lasts is logged once. */
  lastFault: string | null;
  /** Starts the next search; null during one. */
  timer: Timer | null;
  /** Resolves when the current or last search has ended. */
  search: Promise<void>;
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

const STOP_MS = 10_000;

/**
 * Searches {@link FIRST_AFTER_MS} later and then periodically. `send` sends the mails that are due and resolves to whether to pause before the
 * next ones. Faults are logged, and the next search tries again.
 */
export function startOutboxTimer({ deps, log }: Pick<Service, 'deps' | 'log'>, send: OutboxTimer['send']): OutboxTimer {
  const outboxTimer: OutboxTimer = {
    deps,
    log,
    send,
    isStopping: false,
    remindAtMs: deps.clock.monotonicMs(),
    dropAtMs: deps.clock.monotonicMs(),
    lastFault: null,
    timer: null,
    search: Promise.resolve(),
  };
  outboxTimer.search = Bun.sleep(FIRST_AFTER_MS).then(() => search(outboxTimer));
  return outboxTimer;
}

/** Starts no further mail, and waits for the one that is being sent, for at most {@link STOP_MS}. */
export async function stopOutboxTimer(outboxTimer: OutboxTimer): Promise<void> {
  outboxTimer.isStopping = true;
  if (outboxTimer.timer !== null) clearTimeout(outboxTimer.timer);
  const { promise: tooLate, resolve } = Promise.withResolvers<void>();
  const patience = setTimeout(resolve, STOP_MS);
  await Promise.race([outboxTimer.search, tooLate]);
  clearTimeout(patience);
}

async function search(outboxTimer: OutboxTimer): Promise<void> {
  const { deps, log } = outboxTimer;
  let isToPause = true;
  try {
    const { prepareNotices } = await import('../../shared/upkeep/delivery/deliver.ts');
    const { expireKeys } = await import('../../shared/keys/life/expire.ts');
    const nowMs = deps.clock.monotonicMs();
    const isReminding = nowMs >= outboxTimer.remindAtMs && deps.clock.settledMs() !== null;
    isToPause = prepareNotices(deps, isReminding) ? await outboxTimer.send() : false;
    if (isReminding) outboxTimer.remindAtMs = nowMs + REMIND_MS;
    expireKeys(deps);
    dropOldErasures(outboxTimer, nowMs);
    outboxTimer.lastFault = null;
  } catch (cause) {
    const { message, code } = cause as AppError;
    // A locked database is not logged at all.
    if (code !== 'busy' && message !== outboxTimer.lastFault)
      log.event('error', 'Could not check for queued mails and expired keys.', { cause });
    outboxTimer.lastFault = message;
  }
  if (outboxTimer.isStopping) return;
  const searchAgain = () => {
    outboxTimer.timer = null;
    outboxTimer.search = search(outboxTimer);
  };
  outboxTimer.timer = setTimeout(searchAgain, isToPause ? PAUSE_MS : LOOK_MS).unref();
}

/** Deletes, every hour, the ids of profiles erased long ago; if there are many, a batch with each search. */
function dropOldErasures(outboxTimer: OutboxTimer, nowMs: number): void {
  const { db, clock } = outboxTimer.deps;
  if (nowMs < outboxTimer.dropAtMs || clock.settledMs() === null) return;
  if (!dropErasedProfiles(db, clock)) outboxTimer.dropAtMs = nowMs + REMIND_MS;
}
