import { guardDatabase } from '../db/faults.ts';
import type { ReminderResult } from '../db/key-columns.ts';
import { openBeside } from '../db/open.ts';
import { prepareWrite } from '../db/write.ts';

/** An Active key with an end, and where its owner is reached; times are milliseconds since 1970. */
export type ExpiringKey = {
  identifier: string;
  name: string;
  /** When this expiry was given to it: by its approval, or by a later change. */
  expirySetAt: number;
  expiresAt: number;
  email: string | null;
  isBanned: boolean;
};

/** Reminders in the database, on a connection of its own that waits for no lock. All throw `busy` where one is held. */
export type ReminderStore = {
  /** Active keys that expire after the one time and not after the other, those first that end first. */
  expiring: (afterMs: number, untilMs: number) => ExpiringKey[];
  /** What became of a step before this expiry so far, null where nothing was tried. */
  last: (key: ExpiringKey, stepDays: number) => { at: number; result: ReminderResult } | null;
  /** Notes, on disk, that a step is being sent: if the key is still Active and `mayBegin`, else null. */
  begin: (
    identifier: string,
    stepDays: number,
    nowMs: number,
    mayBegin: (key: ExpiringKey) => boolean,
  ) => ExpiringKey | null;
  /** Notes what became of a step before this expiry. */
  end: (key: ExpiringKey, stepDays: number, result: ReminderResult, nowMs: number) => void;
  close: () => void;
};

type Row = Omit<ExpiringKey, 'isBanned'> & { banned: number };

const COLUMNS = `SELECT key.identifier, key.name, key.expires_at AS expiresAt, coalesce(
    (SELECT max(at) FROM key_events WHERE identifier = key.identifier AND event = 'changed'
      AND CASE WHEN json_valid(detail) THEN detail ->> '$.changes.expiresAt.to' END IS NOT NULL),
    key.decided_at) AS expirySetAt,
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
  const last = sqlite.prepare<{ at: number; result: ReminderResult }, [string, number, number]>(
    'SELECT at, result FROM key_reminders WHERE identifier = ? AND step_days = ? AND expires_at = ?',
  );
  const replace = sqlite.prepare<undefined, [string, number, number, number, ReminderResult]>(
    'INSERT OR REPLACE INTO key_reminders (identifier, step_days, expires_at, at, result) VALUES (?, ?, ?, ?, ?)',
  );
  const put = ({ identifier, expiresAt }: ExpiringKey, stepDays: number, at: number, result: ReminderResult) => {
    replace.run(identifier, stepDays, expiresAt, at, result);
  };
  const begin = prepareWrite(
    sqlite,
    (identifier: string, stepDays: number, nowMs: number, mayBegin: (key: ExpiringKey) => boolean) => {
      const row = one.get(identifier);
      const key = row === null ? null : keyOf(row);
      if (key === null || !mayBegin(key)) return null;
      put(key, stepDays, nowMs, 'sending');
      return key;
    },
  );
  const end = prepareWrite(sqlite, put);
  const guarded = <T>(act: () => T): T => guardDatabase(path, act);
  return {
    expiring: (afterMs, untilMs) => guarded(() => expiring.all(afterMs, untilMs).map(keyOf)),
    last: (key, stepDays) => guarded(() => last.get(key.identifier, stepDays, key.expiresAt)),
    begin: (...all) => guarded(() => begin(...all)),
    end: (key, stepDays, result, nowMs) => guarded(() => end(key, stepDays, nowMs, result)),
    close: () => sqlite.close(),
  };
}
