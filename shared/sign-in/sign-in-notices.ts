import { asc, eq } from 'drizzle-orm';
import { withBusyTimeout } from '../db/busy-timeout.ts';
import type { Db } from '../db/connect.ts';
import { write } from '../db/write.ts';
import { addSignInNotice } from '../outbox/people.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import { untoldSignIns } from '../sessions-file/schema.ts';
import { readSessions, writeSessions } from '../sessions-file/sessions-file.ts';
import type { Binding } from '../sessions-file/whose.ts';
import { isStillBound } from '../sign-ins/binding.ts';

// Owners are told by mail of sign-ins from browsers that they had not used. Mails wait in the main database, for whose lock
// a sign-in does not wait: that there is somebody to tell is stored together with the session, in the sessions file, and
// moved to the main database later.

/** Stores that an owner is to be told of a sign-in, inside the transaction on the sessions file that signs him in. */
export function tellOfSignIn(tables: Db, owner: Binding, { address, agent }: Client, at: number): void {
  const { profileId, generation, addressHash } = owner;
  const client = { clientAddress: address, clientAgent: agent.toWellFormed() };
  tables
    .insert(untoldSignIns)
    .values({ profileId, generation, addressHash, at, ...client })
    .run();
}

/**
 * Moves all of them to the main database, from where the mails are sent; those of profiles that were erased or have
 * another address since are dropped. A crash in between tells an owner twice. Throws `busy` at once where the main database
 * is locked, and `refused` where a file can't be written; what is left is moved the next time.
 */
export function storeSignInNotices(access: Access): void {
  const rows = readSessions(access.sessions, (tables) =>
    tables.select().from(untoldSignIns).orderBy(asc(untoldSignIns.id)).all(),
  );
  for (const row of rows) {
    storeNotice(access, row);
    writeSessions(access.sessions, (tables) => tables.delete(untoldSignIns).where(eq(untoldSignIns.id, row.id)).run());
  }
}

function storeNotice({ db, config }: Access, row: typeof untoldSignIns.$inferSelect): void {
  const { profileId, at: atMs, clientAddress: address, clientAgent: agent } = row;
  withBusyTimeout(db.$client, 0, () =>
    write(db, (tx) => {
      if (isStillBound(db, row)) addSignInNotice(tx, config, { profileId, atMs, address, agent });
    }),
  );
}
