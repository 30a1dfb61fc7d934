import { open } from 'node:fs/promises';
import { type Sqlite, withBusyTimeout } from '../../shared/db/connect.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import { realPath } from '../../shared/db/file.ts';
import { openBeside } from '../../shared/db/migrate.ts';
import { AppError } from '../../shared/errors.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { prepareQuotaRows } from '../../shared/limits/stored.ts';
import { noteUsageSaved, prepareUsageRows, type Usage } from '../../shared/usage/usage.ts';
import type { Service } from '../service.ts';
import { repeat } from './repeating.ts';

const SAVE_EVERY_MS = 1_000;

/** The pause while another process holds the write lock: an import leaves it free for a few milliseconds at a time. */
const RETRY_LOCKED_MS = 10;

const RETRY_FAILED_MS = 5_000;

/** How long the last save waits for the lock; the server no longer answers requests then. */
const LAST_WAIT_MS = 5_000;

/**
 * Stores once a second what keys have spent of their rate limits, and how they were used. The commit does not wait for the disk;
 * a thread of the runtime does, so that a power cut loses no more than a crash. `stop` stores the rest.
 */
export function startSavingCounts({ deps, limits, usage, log }: Pick<Service, 'deps' | 'limits' | 'usage' | 'log'>): {
  stop: () => Promise<void>;
} {
  const { databasePath } = deps.config;
  let store: ReturnType<typeof openStore> | null = null;
  let isFailing = false;

  /** Returns the pause until the next save. */
  async function save(waitMs: number, isLast: boolean): Promise<number> {
    try {
      if (!limits.hasChanges(isLast) && usage.unsaved.length === 0) return SAVE_EVERY_MS;
      // Opened by the first save, which tries again later if that fails.
      store ??= openStore(databasePath, limits, usage);
      const { sqlite, write } = store;
      const changes = guardDatabase(databasePath, () => withBusyTimeout(sqlite, waitMs, write));
      changes.noteSaved();
      noteUsageSaved(usage);
      await syncLog(sqlite);
      if (isFailing) log.event('info', 'Quotas and usage can be written again.');
      isFailing = false;
      return SAVE_EVERY_MS;
    } catch (error) {
      if (error instanceof AppError && error.code === 'busy' && !isLast) return RETRY_LOCKED_MS;
      const effect = isLast ? 'what was not written yet is lost' : 'they are only kept in memory';
      if (isLast || !isFailing) log.event('error', `Quotas and usage cannot be written; ${effect}.`, { cause: error });
      isFailing = true;
      return RETRY_FAILED_MS;
    }
  }

  const timer = repeat(() => save(0, false), SAVE_EVERY_MS);
  return {
    stop: async () => {
      await timer.stop();
      await save(LAST_WAIT_MS, true);
      store?.sqlite.close();
    },
  };
}

function openStore(databasePath: string, limits: Pick<Limits, 'changes'>, { unsaved }: Usage) {
  const sqlite = openBeside(databasePath, 0, { isDurable: false });
  const addQuotas = prepareQuotaRows(sqlite);
  const addUsage = prepareUsageRows(sqlite);
  // The row is composed once the lock is held: while another process holds it, a hundred tries a second would be in vain.
  const write = sqlite.transaction(() => {
    const changes = limits.changes();
    addQuotas(changes.row, changes.neededFrom);
    addUsage(unsaved);
    return changes;
  });
  return { sqlite, write: () => write.immediate() };
}

/** Flushes the write-ahead log to the disk. */
async function syncLog({ filename }: Sqlite): Promise<void> {
  const log = await open(`${realPath(filename)}-wal`, 'r');
  try {
    await log.datasync();
  } finally {
    await log.close();
  }
}
