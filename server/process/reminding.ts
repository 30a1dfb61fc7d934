import { sendReminders } from '../../shared/notices/reminders.ts';
import type { Service } from './service.ts';

/** Looks for keys that are about to expire, as long as the server runs. */
export type Reminding = {
  /** Begins no further mail, and waits for the one that is on its way, ten seconds at most. */
  stop: () => Promise<void>;
};

const EVERY_MS = 3_600_000;

/** Where the database was locked. */
const SOON_MS = 60_000;

const STOP_MS = 10_000;

/** Looks at once and then each hour, beside the requests. What goes wrong is logged, and tried again. */
export function startReminding({ deps, log }: Pick<Service, 'deps' | 'log'>): Reminding {
  let isStopping = false;
  let timer: Timer | null = null;
  let underWay = look();

  async function look(): Promise<void> {
    let wantsMore = false;
    try {
      const report = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown) =>
        log.event(level, message, { cause });
      wantsMore = await sendReminders(deps, report, () => isStopping);
    } catch (cause) {
      log.event('error', 'Keys that are about to expire could not be looked for.', { cause });
    }
    if (isStopping) return;
    timer = setTimeout(
      () => {
        underWay = look();
      },
      wantsMore ? SOON_MS : EVERY_MS,
    ).unref();
  }

  return {
    stop: async () => {
      isStopping = true;
      if (timer !== null) clearTimeout(timer);
      const { promise: tooLate, resolve } = Promise.withResolvers<void>();
      const patience = setTimeout(resolve, STOP_MS);
      await Promise.race([underWay, tooLate]);
      clearTimeout(patience);
    },
  };
}
