import { actorText } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { guardDatabase } from '../db/faults.ts';
import { eventsOf, type LogKind } from './log-kinds.ts';
import { keyRows, type LogFilter, type LogRow, peopleRows, serviceRows } from './log-rows.ts';
import { logSentence, writtenText } from './log-text.ts';

/** One action in the log. */
export type LogEntry = {
  /** Milliseconds since 1970. */
  atMs: number;
  /** Who did it, as shown to admins and operators: `ada (on the box)`, `admin Grace`, `owner`. */
  by: string;
  kind: LogKind;
  /** The identifier of the key or the backend's token; otherwise null. */
  identifier: string | null;
  /** The UID of the profile; null if there is none, or it is no longer known. */
  profile: number | null;
  /** The action, as a sentence after the name: `Approved key k7Qm2XaB`. */
  text: string;
  /** Text written by people, such as a reason, which the caller has to escape; empty if there is none. */
  written: string;
  /** The cursor for {@link listLog}'s `before`: continues with the entries older than this one. */
  cursor: string;
};

/** The tables with entries. Entries of the same millisecond are ordered by table, those of the first table first. */
const TABLES = ['service', 'people', 'keys'] as const;

type Table = (typeof TABLES)[number];

/** A cursor: the id of the last entry read from each of {@link TABLES}. */
const CURSOR = /^(\d{1,16})-(\d{1,16})-(\d{1,16})$/;

/** Whether a string is a well-formed cursor. */
export function isCursor(text: string): boolean {
  return CURSOR.test(text);
}

/**
 * Lists people's actions on keys, admins, tokens, bans, erasures and restores, newest first: at most `limit` entries.
 * Each table is read backwards from the cursor, only as far as needed, so that a page costs the same however long the
 * tables are, unless few entries pass the filter.
 */
export function listLog(db: Db, limit: number, filter: LogFilter = {}): LogEntry[] {
  const last = lastOf(filter.before ?? null);
  const events = eventsOf(filter.kinds);
  const rows = guardDatabase(db.$client.filename, () => ({
    service: serviceRows(db, { filter, events, limit, before: last.service }),
    people: peopleRows(db, { filter, events, limit, before: last.people }),
    keys: keyRows(db, { filter, events, limit, before: last.keys }),
  }));
  // Rows added after the first page was read are newer than that page's cursor.
  for (const table of TABLES) last[table] = (rows[table][0]?.id ?? -1) + 1;
  const entries: LogEntry[] = [];
  while (entries.length < limit) {
    const heads = TABLES.filter((table) => rows[table].length > 0);
    const newest = Math.max(...heads.map((table) => rows[table][0]?.at ?? 0));
    const table = heads.find((one) => rows[one][0]?.at === newest);
    const row = table && rows[table].shift();
    if (table === undefined || row === undefined) break;
    last[table] = row.id;
    entries.push(entryOf(table, row, TABLES.map((one) => last[one]).join('-')));
  }
  return entries;
}

function lastOf(cursor: string | null): Record<Table, number> {
  const [service, people, keys] = (CURSOR.exec(cursor ?? '')?.slice(1) ?? []).map(Number);
  const newest = Number.MAX_SAFE_INTEGER;
  return { service: service ?? newest, people: people ?? newest, keys: keys ?? newest };
}

function entryOf(table: Table, row: LogRow, cursor: string): LogEntry {
  const { at, by, byKind, kind, name, profile, detail } = row;
  return {
    atMs: at,
    by: actorText({ kind: byKind, name: by }, 'admin'),
    kind,
    identifier: table === 'keys' ? name : (detail?.token ?? null),
    profile,
    text: logSentence(row),
    written: writtenText(row),
    cursor,
  };
}
