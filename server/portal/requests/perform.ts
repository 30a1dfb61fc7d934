import type { Person } from '../../../shared/actor.ts';
import { whenFree } from '../../../shared/db/write.ts';
import type { Operation } from '../../../shared/operations/entry.ts';
import { perform } from '../../../shared/operations.ts';
import type { PageContext } from './request-context.ts';

/**
 * Performs an operation for the signed-in person; see {@link perform}. One that writes waits for the database's lock without
 * holding up other requests. The server sends the stored mails within seconds, so that no response waits for a mail server; the
 * caller has to `finish` an unfinished outcome.
 */
export async function performFor<Input extends object, Output>(
  { access, person, waitUntilMs }: Pick<PageContext, 'access' | 'person' | 'waitUntilMs'>,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  const act = () => perform(access, person as Person, operation, input);
  // An approval reads the mail settings first, and then waits for the lock by itself.
  if (operation.event === null || operation.continuation !== null) return act();
  return whenFree(access.db.$client, act, waitUntilMs);
}
