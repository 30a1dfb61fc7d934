import type { Person } from '../../../shared/actor.ts';
import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import type { Operation } from '../../../shared/operations/entry.ts';
import { perform } from '../../../shared/operations.ts';
import type { Visit } from './visit.ts';

/**
 * Lets whoever is signed in do something with keys, as {@link perform} says. No page waits for a mail server: the mails
 * about it are stored, and the server sends them within seconds; what goes on afterwards is for the caller to finish. What
 * changes something waits for the lock of the database without holding up other pages; throws `busy` after 2 seconds.
 */
export async function performHere<Input extends object, Output>(
  { access, person }: Pick<Visit, 'access' | 'person'>,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  if (operation.event !== null) await whenUnlocked(access.db.$client);
  const deps = operation.goesOn !== null ? access : { ...access, mailer: async () => null };
  return perform(deps, person as Person, operation, input);
}
