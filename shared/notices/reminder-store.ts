import { guardDatabase } from '../db/faults.ts';
import type { ReminderResult } from '../db/key-columns.ts';
import { openBeside } from '../db/open.ts';

/** An Active key with an end, and where its owner is reached; times are milliseconds since 1970. */
export type ExpiringKey = {
  identifier: string;
  name: string;
  approvedAt: number;
  expiresAt: number;
  email: string | null;
  isBanned: boolean;
};

/** Reminders in the database, on a connection of its own that waits for no lock. All throw `busy` where one is held. */
export type ReminderStore = {
  /** Active keys that expire after the one time and not after the other, those first that end first. */
  expiring: (afterMs: number, untilMs: number) => ExpiringKey[];
  /** What became of a step so far, null where nothing was tried. */
  last: (identifier: string, stepDays: number) => { at: number; result: ReminderResult } | null;
  /** Notes, on disk, that a step is being sent: if the key is still Active and `mayBegin`, else null. */
  begin: (
    identifier: string,
    stepDays: number,
    nowMs: number,
    mayBegin: (key: ExpiringKey) => boolean,
  ) => ExpiringKey | null;
  /** Notes what became of it. */
  end: (identifier: string, stepDays: number, result: ReminderResult, nowMs: number) => void;
  close: () => void;
};

type Row = Omit<ExpiringKey, 'isBanned'> & { banned: number };

const COLUMNS = `SELECT key.identifier, key.name, key.decided_at AS approvedAt, key.expires_at AS expiresAt,
  profile.email, profile.banned FROM api_keys AS key JOIN profiles AS profile ON profile.id = key.profile_id
  WHERE key.state = 'Active'`;

function keyOf({ banned, ...row }: Row): ExpiringKey {
  return { ...row, isBanned: banned === 1 };
}

/** Opens the store in an existing, current database. Throws `busy`, or `refused` where the file can't be used. */
export function openReminderStore(path: string): ReminderStore {
  const sqlite = openBeside(path);
  // FULL: what is noted as being sent is so after a power cut, too.
  sqlite.run('PRAGMA synchronous = FULL');
  const expiring = sqlite.prepare<Row, [number, number]>(
    `${COLUMNS} AND key.expires_at > ? AND key.expires_at <= ? ORDER BY key.expires_at`,
  );
  const one = sqlite.prepare<Row, [string]>(`${COLUMNS} AND key.identifier = ? AND key.expires_at IS NOT NULL`);
  const last = sqlite.prepare<{ at: number; result: ReminderResult }, [string, number]>(
    'SELECT at, result FROM key_reminders WHERE identifier = ? AND step_days = ?',
  );
  const put = sqlite.prepare<undefined, [string, number, number, ReminderResult]>(
    'INSERT OR REPLACE INTO key_reminders (identifier, step_days, at, result) VALUES (?, ?, ?, ?)',
  );
  const begin = sqlite.transaction(
    (identifier: string, stepDays: number, nowMs: number, mayBegin: (key: ExpiringKey) => boolean) => {
      const row = one.get(identifier);
      const key = row === null ? null : keyOf(row);
      if (key === null || !mayBegin(key)) return null;
      put.run(identifier, stepDays, nowMs, 'sending');
      return key;
    },
  );
  const guarded = <T>(act: () => T): T => guardDatabase(path, act);
  return {
    expiring: (afterMs, untilMs) => guarded(() => expiring.all(afterMs, untilMs).map(keyOf)),
    last: (identifier, stepDays) => guarded(() => last.get(identifier, stepDays)),
    begin: (...all) => guarded(() => begin.immediate(...all)),
    end: (identifier, stepDays, result, nowMs) => guarded(() => put.run(identifier, stepDays, nowMs, result)),
    close: () => sqlite.close(),
  };
}
