import { sendReminders } from '../../shared/notices/reminders.ts';
import type { Service } from './service.ts';

/** The search for keys that are about to expire, which goes on as long as the server runs. */
export type Reminding = {
  readonly deps: Service['deps'];
  readonly log: Service['log'];
  isStopping: boolean;
  /** Begins the next search; null while one is under way. */
  timer: Timer | null;
  /** Resolves when the search that is under way, or was the last one, has ended. */
  search: Promise<void>;
};

const EVERY_MS = 3_600_000;

/** How soon the server searches again where the database was locked. */
const RETRY_MS = 60_000;

const STOP_MS = 10_000;

/** Searches at once and then every hour, and sends the mails. What goes wrong is logged, and tried again. */
export function startReminding({ deps, log }: Pick<Service, 'deps' | 'log'>): Reminding {
  const reminding: Reminding = { deps, log, isStopping: false, timer: null, search: Promise.resolve() };
  reminding.search = search(reminding);
  return reminding;
}

/** Begins no further mail, and waits for the mail that is being sent, for ten seconds at most. */
export async function stopReminding(reminding: Reminding): Promise<void> {
  reminding.isStopping = true;
  if (reminding.timer !== null) clearTimeout(reminding.timer);
  const { promise: tooLate, resolve } = Promise.withResolvers<void>();
  const patience = setTimeout(resolve, STOP_MS);
  await Promise.race([reminding.search, tooLate]);
  clearTimeout(patience);
}

async function search(reminding: Reminding): Promise<void> {
  const { deps, log } = reminding;
  let wantsMore = false;
  try {
    const report = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown) =>
      log.event(level, message, { cause });
    wantsMore = await sendReminders(deps, report, () => reminding.isStopping);
  } catch (cause) {
    log.event('error', 'Keys that are about to expire could not be looked for.', { cause });
  }
  if (reminding.isStopping) return;
  const searchAgain = () => {
    reminding.timer = null;
    reminding.search = search(reminding);
  };
  reminding.timer = setTimeout(searchAgain, wantsMore ? RETRY_MS : EVERY_MS).unref();
}
