import { withBusyTimeout } from '../db/busy-timeout.ts';
import { write } from '../db/write.ts';
import { addSignInNotice } from '../notices/people.ts';
import type { Access, Client } from './access.ts';
import { type Binding, isStillBound } from './binding.ts';
import { readSessions, writeSessions } from './sessions-file.ts';

// Owners are told by mail of sign-ins from browsers that they had not used. Mails wait in the main database, for whose lock
// a sign-in does not wait: that there is somebody to tell is stored together with the session, in the sessions file, and
// moved to the main database later.

type Row = Binding & { id: number; at: number; address: string; agent: string };

/** Stores that an owner is to be told of a sign-in, inside the transaction on the sessions file that signs him in. */
export function tellOfSignIn({ sessions }: Access, owner: Binding, { address, agent }: Client, atMs: number): void {
  sessions.sqlite
    .query(
      `INSERT INTO untold_sign_ins (profile_id, generation, address_hash, at, client_address, client_agent)
         VALUES (?, ?, ?, ?, ?, ?)`,
    )
    .run(owner.profileId, owner.generation, owner.addressHash, atMs, address, agent.toWellFormed());
}

/**
 * Moves all of them to the main database, from where the mails are sent; those of profiles that were erased or have
 * another address since are dropped. A crash in between tells an owner twice. Throws `busy` at once where the main database
 * is locked, and `refused` where a file can't be written; what is left is moved the next time.
 */
export function storeSignInNotices(access: Access): void {
  const rows = readSessions(access.sessions, (sqlite) =>
    sqlite
      .query<Row, []>(
        `SELECT id, profile_id AS profileId, generation, address_hash AS addressHash, at, client_address AS address,
           client_agent AS agent FROM untold_sign_ins ORDER BY id`,
      )
      .all(),
  );
  for (const row of rows) {
    storeNotice(access, row);
    writeSessions(access.sessions, (sqlite) => sqlite.query('DELETE FROM untold_sign_ins WHERE id = ?').run(row.id));
  }
}

function storeNotice({ db, config }: Access, { at: atMs, ...row }: Row): void {
  const { profileId, address, agent } = row;
  withBusyTimeout(db.$client, 0, () =>
    write(db, (tx) => {
      if (isStillBound(db, row)) addSignInNotice(tx, config, { profileId, atMs, address, agent });
    }),
  );
}
