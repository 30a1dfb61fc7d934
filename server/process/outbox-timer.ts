import { dropErasedProfiles } from '../../shared/db/erasures.ts';
import type { AppError } from '../../shared/errors.ts';
import { expireKeys } from '../../shared/keys/life/expire.ts';
import { prepareNotices } from '../../shared/upkeep/delivery/deliver.ts';
import type { Service } from './service.ts';

/** The search for mails without a secret that are due, and for keys that expire, which goes on as long as the server runs. */
export type Notifying = {
  readonly deps: Service['deps'];
  readonly log: Service['log'];
  /** Sends what is due, in another thread. */
  readonly send: () => Promise<boolean>;
  isStopping: boolean;
  /** When to look for keys that expire soon, by the monotonic clock. */
  remindAtMs: number;
  /** When to look for ids of erased profiles that need not be kept any more, by the monotonic clock. */
  dropAtMs: number;
  /** What went wrong in the last search, null where nothing did: a fault that lasts is logged once. */
  lastFault: string | null;
  /** Begins the next search; null while one is under way. */
  timer: Timer | null;
  /** Resolves when the search that is under way, or was the last one, has ended. */
  search: Promise<void>;
};

/** How often the server looks for mails that commands could not deliver, and for keys that have expired. */
const LOOK_MS = 5_000;

/** How long it waits where the mail server takes nothing, or the database is locked or can't be written. */
const PAUSE_MS = 60_000;

/** How often it looks for keys that expire soon, and for ids of erased profiles that need not be kept any more. */
const REMIND_MS = 3_600_000;

const STOP_MS = 10_000;

/**
 * Searches at once and then again and again, and has `send` send the mails that are due; it resolves to whether to wait a
 * while before the next ones. What goes wrong is logged, and tried again.
 */
export function startNotifying({ deps, log }: Pick<Service, 'deps' | 'log'>, send: Notifying['send']): Notifying {
  const notifying: Notifying = {
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
  notifying.search = search(notifying);
  return notifying;
}

/** Begins no further mail, and waits for the mail that is being sent, for ten seconds at most. */
export async function stopNotifying(notifying: Notifying): Promise<void> {
  notifying.isStopping = true;
  if (notifying.timer !== null) clearTimeout(notifying.timer);
  const { promise: tooLate, resolve } = Promise.withResolvers<void>();
  const patience = setTimeout(resolve, STOP_MS);
  await Promise.race([notifying.search, tooLate]);
  clearTimeout(patience);
}

async function search(notifying: Notifying): Promise<void> {
  const { deps, log } = notifying;
  let isToPause = true;
  try {
    const nowMs = deps.clock.monotonicMs();
    const isReminding = nowMs >= notifying.remindAtMs && deps.clock.settledMs() !== null;
    isToPause = prepareNotices(deps, isReminding) ? await notifying.send() : false;
    if (isReminding) notifying.remindAtMs = nowMs + REMIND_MS;
    expireKeys(deps);
    dropOldErasures(notifying, nowMs);
    notifying.lastFault = null;
  } catch (cause) {
    const { message, code } = cause as AppError;
    // A locked database is not logged at all.
    if (code !== 'busy' && message !== notifying.lastFault)
      log.event('error', 'Mails and expired keys could not be looked for.', { cause });
    notifying.lastFault = message;
  }
  if (notifying.isStopping) return;
  const searchAgain = () => {
    notifying.timer = null;
    notifying.search = search(notifying);
  };
  notifying.timer = setTimeout(searchAgain, isToPause ? PAUSE_MS : LOOK_MS).unref();
}

/** Forgets who was erased long ago, now and then; while there are many, a part each time. */
function dropOldErasures(notifying: Notifying, nowMs: number): void {
  const { db, clock } = notifying.deps;
  if (nowMs < notifying.dropAtMs || clock.settledMs() === null) return;
  if (!dropErasedProfiles(db, clock)) notifying.dropAtMs = nowMs + REMIND_MS;
}
