import type { Person } from '../../shared/actor.ts';
import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import type { Operation } from '../../shared/operations/entry.ts';
import { perform } from '../../shared/operations.ts';
import type { Access } from '../../shared/sessions-file/access.ts';

/**
 * Lets whoever is signed in do something with keys, as {@link perform} says. No page waits for a mail server: the mails
 * that it stores are left to the server, which sends them within seconds; what goes on afterwards is for the caller to finish. What
 * changes something waits for the lock of the database without holding up other pages; throws `busy` after 2 seconds.
 */
export async function performHere<Input extends object, Output>(
  { access, person }: { access: Access; person: Person | null },
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  if (operation.event !== null) await whenUnlocked(access.db.$client);
  return perform(access, person as Person, operation, input);
}
