import type { Person } from '../../shared/actor.ts';
import { type Operation, perform } from '../../shared/operations.ts';
import type { Visit } from './visit.ts';

/**
 * Lets whoever is signed in do something with keys, as {@link perform} says. No page waits for a mail server: the mails
 * about it are stored, and the server sends them within seconds.
 */
export function performHere<Input extends object, Output>(
  { access, person }: Pick<Visit, 'access' | 'person'>,
  operation: Operation<Input, Output>,
  input: Input,
): Promise<Output> {
  return perform({ ...access, mailer: async () => null }, person as Person, operation, input);
}
