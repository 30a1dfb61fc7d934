import type { Opened } from '../../../shared/db/connect.ts';
import type { TicketKind } from '../../../shared/db/schema/sign-in.ts';

/** The number of one-time secrets of a kind, including expired ones. */
export function countTickets({ $client }: Opened, kind: TicketKind): number {
  const found = $client.query<{ n: number }, [string]>('SELECT count(*) AS n FROM tickets WHERE kind = ?');
  return found.get(kind)?.n ?? 0;
}

/** The number of sign-ins, including expired ones. */
export function countSignInRows({ $client }: Opened): number {
  return $client.query<{ n: number }, []>('SELECT count(*) AS n FROM sign_ins').get()?.n ?? 0;
}
