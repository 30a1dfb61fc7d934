import { and, desc, eq, gte, inArray, lt, or, type SQL, sql } from 'drizzle-orm';
import { ACTOR_KINDS, type ActorKind } from '../actor.ts';
import type { Db } from '../db/connect.ts';
import { apiKeys, type KeyEventDetail, keyEvents } from '../db/schema/keys.ts';
import { type PeopleEventDetail, peopleEvents } from '../db/schema/people.ts';
import { erasedProfiles } from '../db/schema/profiles.ts';
import { serviceEvents } from '../db/schema/service-events.ts';
import { kindOf, type LogGroup, type LogKind, type SelectedEvents } from './log-kinds.ts';

// Reads the three tables of the log (audit-log.ts), each backwards.

/** Which entries to list; by default all. */
export type LogFilter = {
  /** From this time until before that one; milliseconds since 1970. */
  sinceMs?: number;
  untilMs?: number;
  /** The actor: a name, a name as the log shows it, or a kind of actor such as `owner`. Case-insensitive. */
  by?: string;
  kinds?: readonly (LogKind | LogGroup)[];
  key?: string;
  /** The cursor of an entry; the list continues after it. */
  before?: string | null;
};

/** A stored entry. Ids ascend in the order of insertion. */
export type LogRow = {
  id: number;
  at: number;
  by: string;
  byKind: ActorKind;
  kind: LogKind;
  name: string;
  profile: number | null;
  count: number;
  detail: (KeyEventDetail & PeopleEventDetail) | null;
};

/** The rows to read from a table: at most `limit` rows with ids below `before`. */
export type Reading = { filter: LogFilter; events: SelectedEvents; limit: number; before: number };

type Columns = Pick<typeof keyEvents, 'id' | 'at' | 'by' | 'byKind'>;

function conditionsOf(table: Columns | typeof peopleEvents | typeof serviceEvents, { filter, before }: Reading): SQL[] {
  const { sinceMs, untilMs, by } = filter;
  return [
    lt(table.id, before),
    ...(sinceMs === undefined ? [] : [gte(table.at, sinceMs)]),
    ...(untilMs === undefined ? [] : [lt(table.at, untilMs)]),
    ...(by === undefined ? [] : [isBy(table, by)]),
  ];
}

/** A condition: the actor is the one that a string names. */
function isBy(table: Columns | typeof peopleEvents | typeof serviceEvents, text: string): SQL {
  const [, onBox] = /^(.+) \(on the box\)$/i.exec(text) ?? [];
  const [, kind, name] = onBox === undefined ? (/^(admin|backend) (.+)$/i.exec(text) ?? []) : ['', 'operator', onBox];
  const isNamed = (wanted: string) => sql`lower(${table.by}) = lower(${wanted})`;
  const isKind = (wanted: string | undefined) => {
    const found = ACTOR_KINDS.find((one) => one === wanted?.toLowerCase());
    return found === undefined ? undefined : eq(table.byKind, found);
  };
  const isAsShown = name === undefined ? undefined : and(isKind(kind), isNamed(name));
  return or(isNamed(text), isKind(text), isAsShown) ?? isNamed(text);
}

/** Reads actions on keys. */
export function keyRows(db: Db, reading: Reading): LogRow[] {
  const { events, filter, limit } = reading;
  if (events.keys.length === 0) return [];
  const ofKey = filter.key === undefined ? [] : [eq(keyEvents.identifier, filter.key)];
  return db
    .select({ event: keyEvents, profile: apiKeys.profileId })
    .from(keyEvents)
    .innerJoin(apiKeys, eq(apiKeys.identifier, keyEvents.identifier))
    .where(and(inArray(keyEvents.event, events.keys), ...ofKey, ...conditionsOf(keyEvents, reading)))
    .orderBy(desc(keyEvents.id))
    .limit(limit)
    .all()
    .map(({ event, profile }) => ({
      ...event,
      kind: kindOf('keys', event.event),
      name: event.identifier,
      profile,
      count: 1,
    }));
}

/** Reads actions on admins and on backends' tokens. */
export function peopleRows(db: Db, reading: Reading): LogRow[] {
  const { events, filter, limit } = reading;
  const isOf = (kind: 'admin' | 'backend', names: SelectedEvents['admins']) =>
    and(eq(peopleEvents.kind, kind), inArray(peopleEvents.event, names));
  if (filter.key !== undefined || events.admins.length + events.tokens.length === 0) return [];
  const isOfKind = or(isOf('admin', events.admins), isOf('backend', events.tokens));
  return db
    .select()
    .from(peopleEvents)
    .where(and(isOfKind, ...conditionsOf(peopleEvents, reading)))
    .orderBy(desc(peopleEvents.id))
    .limit(limit)
    .all()
    .map(({ kind: whose, ...row }) => {
      const kind = kindOf(whose === 'admin' ? 'admins' : 'tokens', row.event);
      return { ...row, kind, profile: null, count: 1 };
    });
}

/** Reads bans, erasures and restores. */
export function serviceRows(db: Db, reading: Reading): LogRow[] {
  const { events, filter, limit } = reading;
  if (filter.key !== undefined || events.service.length === 0) return [];
  return db
    .select()
    .from(serviceEvents)
    .where(and(inArray(serviceEvents.event, events.service), ...conditionsOf(serviceEvents, reading)))
    .orderBy(desc(serviceEvents.id))
    .limit(limit)
    .all()
    .map(({ profileId, ...row }) => {
      const kind = kindOf('service', row.event);
      const profile = row.event === 'erased' && row.count === 1 ? erasedAt(db, row.at) : profileId;
      return { ...row, kind, name: '', profile, detail: null };
    });
}

/** The profile erased at a time, as long as that is kept (40 days); null if it is unknown, or if there are several. */
function erasedAt(db: Db, atMs: number): number | null {
  const rows = db
    .select({ id: erasedProfiles.id })
    .from(erasedProfiles)
    .where(eq(erasedProfiles.at, atMs))
    .limit(2)
    .all();
  return rows.length === 1 ? (rows[0]?.id ?? null) : null;
}
