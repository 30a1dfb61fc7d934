import type { Person } from '../../shared/actor.ts';
import { systemClock } from '../../shared/clock.ts';
import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import type { Operation } from '../../shared/operations/entry.ts';
import { perform } from '../../shared/operations.ts';
import type { Access } from '../../shared/sessions-file/access.ts';

const RETRY_MS = 10;

/**
 * Performs an operation for the signed-in person; see {@link perform}. The server sends the stored mails within seconds, so
 * that no response waits for a mail server; the caller has to `finish` an unfinished outcome. An operation that writes waits
 * until `waitUntilMs` for the database's lock without blocking other requests, again if another process got the lock first:
 * an operation that throws `busy` has written nothing.
 */
export async function performWhenUnlocked<Input extends object, Output>(
  { access, person, waitUntilMs }: { access: Access; person: Person | null; waitUntilMs: number },
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  if (operation.event === null) return perform(access, person as Person, operation, input);
  for (;;) {
    await whenUnlocked(access.db.$client, waitUntilMs);
    try {
      return await perform(access, person as Person, operation, input);
    } catch (error) {
      const isBusy = error instanceof AppError && error.code === 'busy';
      if (!isBusy || systemClock.monotonicMs() >= waitUntilMs) throw error;
      // Other requests come first, even if the lock is free again at once.
      await Bun.sleep(RETRY_MS);
    }
  }
}
