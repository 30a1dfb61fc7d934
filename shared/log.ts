import { and, desc, eq, gte, inArray, lt, or, type SQL, sql } from 'drizzle-orm';
import { ACTOR_KINDS, actorText } from './actor.ts';
import type { Db } from './db/connect.ts';
import {
  EVENTS,
  type EventData,
  type EventName,
  erasedProfiles,
  events,
  type KeyChanges,
  type KeyEventName,
  profileNames,
  profiles,
  type Subject,
} from './db/schema.ts';
import { VOIDING_CHANGES } from './keys/key.ts';
import type { HistoryView } from './keys/view.ts';
import { formatRateLimit, type RateLimit } from './limits/rate-limit.ts';
import { ALL_OPERATIONS } from './operations.ts';
import { foldName } from './profiles/name.ts';

// Prints what `events` holds: the history of a key, and the log of everything that people did. What an operation on keys adds is
// worded in its entry (`shared/operations/`).

const OPERATION_OF = new Map(ALL_OPERATIONS.flatMap((one) => (one.event === null ? [] : [[one.event, one.texts]])));

/** The entries of keys that no operation adds. */
const OTHER_WORDS: Partial<Record<KeyEventName, string>> = {
  'approval started': 'Approval started: the secret is being mailed',
  'approval refused': 'The e-mail with the secret was refused; the request is still pending',
  'approval not confirmed':
    'It is not known whether the e-mail with the secret was delivered; the request is still pending',
  'address changed': 'The e-mail address of the profile was changed',
  'profile banned': 'The profile was banned: its keys are refused until the ban is lifted',
  'profile unbanned': 'The ban of the profile was lifted: its Active keys work again',
  erased: 'Erased with its profile',
};

/** The words for an entry of a key's history. */
export function eventWords(event: KeyEventName): string {
  return OPERATION_OF.get(event)?.history ?? OTHER_WORDS[event] ?? event;
}

/**
 * The details of an entry of a key's history: a reason, or the old and new values of a change; empty if there are none. The
 * caller has to escape it: texts of owners and admins are included unchanged, with line breaks.
 */
export function detailText({ detail, event }: Pick<HistoryView, 'detail' | 'event'>): string {
  if (detail === null) return '';
  if (detail.changes !== undefined) return changesText(detail.changes, detail.successor);
  if (detail.successorOf !== undefined) return `replaces ${detail.successorOf}`;
  if (detail.attempt !== undefined) return attemptText(event, detail.attempt, detail);
  if (detail.nameAfter !== undefined) return `"${detail.nameBefore}" → "${detail.nameAfter}"`;
  return detail.reason ?? '';
}

// The number is shown from the second attempt on. For owners there is no reason, since it is the mail server's response.
function attemptText(event: KeyEventName, attempt: number, { retiresOldAt, reason }: EventData): string {
  const number = attempt === 1 ? [] : [`attempt ${attempt}`];
  if (VOIDING_CHANGES.some((change) => change === event)) return `${number[0] ?? 'the approval under way'} was voided`;
  if (retiresOldAt !== undefined) return [...number, `the old key expires at ${retiresOldAt}`].join('; ');
  return [...number, ...(reason === undefined ? [] : [reason])].join(': ');
}

/** The old and new values of a change; `successor` is the key whose approval changed the expiry. */
function changesText({ permissions, rateLimits, expiresAt }: KeyChanges, successor: string | undefined): string {
  const limits = (list: readonly RateLimit[]) => list.map(formatRateLimit).join(', ');
  const parts = [
    permissions && `${permissions.from.join(', ')} → ${permissions.to.join(', ')}`,
    rateLimits && `${limits(rateLimits.from)} → ${limits(rateLimits.to)}`,
    expiresAt && `expires ${expiresAt.from ?? 'never'} → ${expiresAt.to ?? 'never'}`,
    successor && `for its replacement ${successor}`,
  ];
  return parts.filter(Boolean).join('; ');
}

// The log. Actions of the service itself, and the results of mails, are only in the histories of keys.

const OPERATED = EVENTS.key.filter((event) => OPERATION_OF.has(event));

/** The groups by which the log can be filtered, instead of single kinds. */
const GROUPS = {
  keys: ['key', OPERATED],
  admins: ['admin', EVENTS.admin],
  tokens: ['token', EVENTS.token],
  bans: ['profile', ['banned', 'unbanned']],
  erasures: ['profile', ['erased']],
  restores: ['database', EVENTS.database],
} as const satisfies Record<string, readonly [Subject, readonly EventName[]]>;

/** The kind of an entry, as `profilectl log --json` prints it: `key-approved`, `admin-passkey-removed`. */
function kindOf(subject: Subject, event: EventName): string {
  return `${subject}-${event.replaceAll(' ', '-')}`;
}

/** Each group with its kinds, in display order. */
export const LOG_GROUPS = Object.entries<readonly [Subject, readonly EventName[]]>(GROUPS).map(
  ([group, [subject, names]]) => ({ group, subject, names, kinds: names.map((event) => kindOf(subject, event)) }),
);

/** Whether a string is a group or a kind. */
export function isLogKind(text: string): boolean {
  return LOG_GROUPS.some(({ group, kinds }) => group === text || kinds.includes(text));
}

/** One action in the log. */
export type LogEntry = {
  /** Milliseconds since 1970. */
  atMs: number;
  /** Who did it, as shown to admins and operators: `ada (on the box)`, `admin Grace`, `owner ada`. */
  by: string;
  kind: string;
  /** The identifier of the key or the backend's token; otherwise null. */
  identifier: string | null;
  /** The UID of the profile; null if there is none, or it is no longer known. */
  profile: number | null;
  /** The action, as a sentence after the name: `Approved key k7Qm2XaB`. */
  text: string;
  /** Text written by people, such as a reason, which the caller has to escape; empty if there is none. */
  written: string;
};

/** Which entries to list; by default all. */
export type LogFilter = {
  /** From this time until before that one; milliseconds since 1970. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /**
   * The actor: a name, a name as the log shows it, a kind of actor such as `owner`, or `owner` with a username. Case-insensitive.
   */
  by?: string | undefined;
  /** Kinds and groups. */
  kinds?: readonly string[] | undefined;
  key?: string | undefined;
  /** The `next` of an earlier page. */
  after?: string | undefined;
};

/** Whether a string can be the `next` of a page. */
export function isLogCursor(text: string): boolean {
  return /^[1-9][0-9]{0,14}$/.test(text);
}

/**
 * Lists people's actions on keys, admins, tokens, bans, erasures and restores, newest first: a page of `limit` entries, whose
 * `next` leads to the older ones. It reads backwards, only as far as needed, so a page costs the same however long the log is,
 * unless few entries pass the filter.
 */
export function readLog(db: Db, limit: number, filter: LogFilter = {}): { entries: LogEntry[]; next: string | null } {
  const { after, sinceMs, untilMs, by, kinds, key } = filter;
  const conditions = [
    isOfKinds(kinds),
    after === undefined ? undefined : lt(events.id, Number(after)),
    sinceMs === undefined ? undefined : gte(events.at, sinceMs),
    untilMs === undefined ? undefined : lt(events.at, untilMs),
    by === undefined ? undefined : isBy(by),
    key === undefined ? undefined : and(eq(events.subject, 'key'), eq(events.about, key)),
  ];
  // One more than the limit shows whether there is a next page.
  const found = db
    .select({ event: events, username: profiles.username })
    .from(events)
    .leftJoin(profiles, eq(profiles.id, events.profileId))
    .where(and(...conditions))
    .orderBy(desc(events.id))
    .limit(limit + 1)
    .all();
  const shown = found.slice(0, limit);
  return {
    entries: shown.map((row) => entryOf(db, row)),
    next: found.length > shown.length ? String(shown.at(-1)?.event.id) : null,
  };
}

function isOfKinds(wanted: LogFilter['kinds']): SQL | undefined {
  const selected = LOG_GROUPS.map(({ group, subject, kinds, names }) => {
    const isSelected = (kind = '') => wanted === undefined || wanted.some((one) => one === group || one === kind);
    const chosen = names.filter((_, index) => isSelected(kinds[index]));
    return and(eq(events.subject, subject), inArray(events.event, chosen));
  });
  return or(...selected);
}

/** A condition: the actor is the one that a string names. */
function isBy(text: string): SQL | undefined {
  const isNamed = (name: string) => sql`lower(${events.by}) = lower(${name})`;
  const isKind = (kind: string) =>
    sql`${events.byKind} = ${ACTOR_KINDS.find((one) => one === kind.toLowerCase()) ?? ''}`;
  const [, onBox] = /^(.+) \(on the box\)$/i.exec(text) ?? [];
  if (onBox !== undefined) return and(isKind('operator'), isNamed(onBox));
  const [, kind = '', name = ''] = /^(admin|backend|owner) (.+)$/i.exec(text) ?? [];
  const isOwner = sql`${events.profileId} = (SELECT ${profileNames.profileId} FROM ${profileNames}
    WHERE ${profileNames.folded} = ${foldName(name)})`;
  const isAsShown = and(isKind(kind), kind.toLowerCase() === 'owner' ? isOwner : isNamed(name));
  return or(isNamed(text), isKind(text), isAsShown);
}

type Row = { event: typeof events.$inferSelect; username: string | null };

function entryOf(db: Db, { event: row, username }: Row): LogEntry {
  const { at, by, byKind, subject, event, about, profileId } = row;
  const isErasure = subject === 'profile' && event === 'erased' && row.data?.count === undefined;
  const profile = isErasure ? erasedAt(db, at) : profileId;
  return {
    atMs: at,
    kind: kindOf(subject, event),
    profile,
    by: byKind === 'owner' && username !== null ? `owner ${username}` : actorText({ kind: byKind, name: by }, 'admin'),
    identifier: subject === 'key' || subject === 'token' ? about : null,
    text: sentenceOf({ ...row, profileId: profile }),
    written: writtenText(row.data),
  };
}

/** The profile erased at a time, as long as that is kept (40 days); null if it is unknown, or if there are several. */
function erasedAt(db: Db, atMs: number): number | null {
  const isThen = eq(erasedProfiles.at, atMs);
  const rows = db.select({ id: erasedProfiles.id }).from(erasedProfiles).where(isThen).limit(2).all();
  return rows.length === 1 ? (rows[0]?.id ?? null) : null;
}

/** The action as a sentence after the actor's name, without a full stop. It names admins and backends, and holds no other text. */
export function sentenceOf(row: Pick<Row['event'], 'subject' | 'event' | 'about' | 'profileId' | 'data'>): string {
  const { subject, event, data } = row;
  const about = row.about ?? '';
  if (subject === 'key') return `${OPERATION_OF.get(event as KeyEventName)?.log} ${about}${afterKey(data ?? {})}`;
  if (subject === 'admin') return ADMIN_SENTENCES[event as EventName<'admin'>](about, data ?? {});
  if (subject === 'token') {
    const token = `the token ${about} of the backend ${data?.backend ?? ''}`;
    return TOKEN_SENTENCES[event as EventName<'token'>](token, data ?? {});
  }
  if (subject === 'database') return 'Restored the database from a backup';
  const profile =
    row.profileId === null ? 'a profile that has since been erased' : `the profile with UID ${row.profileId}`;
  if (event === 'banned') return `Banned ${profile}`;
  if (event === 'unbanned') return `Lifted the ban of ${profile}`;
  if (data?.count !== undefined) return `Erased ${data.count} profiles`;
  return row.profileId === null ? 'Erased a profile' : `Erased ${profile}`;
}

function afterKey({ successorOf, retiresOldAt, changes, successor }: EventData): string {
  if (successorOf !== undefined) return ` to replace ${successorOf}`;
  if (retiresOldAt !== undefined) return `; the key that it replaces expires at ${retiresOldAt}`;
  return changes === undefined ? '' : `: ${changesText(changes, successor)}`;
}

const passkeyOr = ({ passkey }: EventData) => (passkey === undefined ? '' : 'a passkey of ');

function withEnded({ endedPasskeys = 0 }: EventData): string {
  return endedPasskeys === 0
    ? ''
    : `, which removed ${endedPasskeys === 1 ? '1 passkey' : `${endedPasskeys} passkeys`}`;
}

const ADMIN_SENTENCES: Record<EventName<'admin'>, (name: string, data: EventData) => string> = {
  added: (name) => `Added admin ${name}`,
  'passkey registered': (name) => `Registered a passkey for admin ${name}`,
  'passkey removed': (name) => `Removed a passkey of admin ${name}`,
  removed: (name, data) => `Removed admin ${name}${withEnded(data)}`,
  'left out': (name, data) => `Left ${passkeyOr(data)}admin ${name} out of a restore`,
  restored: (name, data) => `Restored ${passkeyOr(data)}admin ${name} from a backup`,
};

const TOKEN_SENTENCES: Record<EventName<'token'>, (token: string, data: EventData) => string> = {
  added: (token, { rights }) =>
    `Added ${token}${rights === undefined ? '' : `, which may use ${rights.join(' and ')}`}`,
  removed: (token) => `Removed ${token}`,
  'left out': (token) => `Left ${token} out of a restore`,
  restored: (token) => `Restored ${token} from a backup`,
};

/** Text written by people: a reason, a key's names before and after, a passkey's name; empty if there is none. */
function writtenText(data: EventData | null): string {
  if (data?.nameAfter !== undefined) return `“${data.nameBefore}” → “${data.nameAfter}”`;
  return data?.reason ?? data?.passkey ?? '';
}

/** The syntax of a time for filtering the log (`parseTime`, backwards), for refusals. */
export const PAST_SYNTAX =
  'a duration such as 7d or 12h, a date such as 2026-01-31, or a time such as 2026-01-31T09:00Z';
