import { asc, eq } from 'drizzle-orm';
import { SERVICE } from '../actor.ts';
import { type Db, withBusyTimeout } from '../db/connect.ts';
import { write } from '../db/write.ts';
import { mailSignIn } from '../mail/outbox.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { pendingSignInNotices } from '../sessions-file/schema.ts';
import { readSessions, writeSessions } from '../sessions-file/sessions-file.ts';
import type { Binding } from '../sessions-file/whose.ts';
import { isStillBound } from '../sign-ins/binding.ts';

// Mails to owners about sign-ins from new browsers. Mails are stored in the main database, but a sign-in does not wait
// for its lock. So the pending notification is stored in the sessions file, in the same transaction as the session, and
// moved to the main database later.

/**
 * Stores the pending notification of a sign-in, inside the transaction on the sessions file that signs the owner in.
 * `agent` is our own description of the client: a User-Agent, which a stranger can choose, is never mailed.
 */
export function storePendingSignInNotice(sessionsDb: Db, owner: Binding, { address, agent }: Client, at: number): void {
  const { profileId, generation, addressHash } = owner;
  const client = { clientAddress: address, clientAgent: agent.toWellFormed() };
  sessionsDb
    .insert(pendingSignInNotices)
    .values({ profileId, generation, addressHash, at, ...client })
    .run();
}

/**
 * Moves all pending notifications to the main database, from which the mails are sent. Those of profiles that were
 * erased or have another e-mail address are dropped. After a crash in between, an owner is notified twice. Throws
 * `busy` at once if the main database is locked, and `refused` if a file can't be written; the next call moves the
 * rest.
 */
export function storeSignInNotices(access: Access): void {
  const rows = readSessions(access.sessions, (sessionsDb) =>
    sessionsDb.select().from(pendingSignInNotices).orderBy(asc(pendingSignInNotices.id)).all(),
  );
  for (const row of rows) {
    storeNotice(access, row);
    writeSessions(access.sessions, (sessionsDb) =>
      sessionsDb.delete(pendingSignInNotices).where(eq(pendingSignInNotices.id, row.id)).run(),
    );
  }
}

function storeNotice({ db, config }: Access, row: typeof pendingSignInNotices.$inferSelect): void {
  const { profileId, at: atMs, clientAddress: address, clientAgent: agent } = row;
  withBusyTimeout(db.$client, 0, () =>
    write(db, (tx) => {
      if (isStillBound(db, row)) mailSignIn(tx, config, { profileId, address, agent }, { by: SERVICE, atMs });
    }),
  );
}
