import { and, eq, not, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { isPostponed } from '../db/live.ts';
import { apiKeys, type KeyEventDetail, keyEvents } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { profiles } from '../db/schema/profiles.ts';
import { WEBHOOK } from './notice.ts';
import { LONGEST_PAUSE_MS } from './retry-policy.ts';

// The parts of statements on notices. Values that occur in the condition of a partial index are inlined, because SQLite does
// not use such an index for parameters. Times are milliseconds since 1970.

/**
 * When the key got its expiry: by the latest change or by its approval; null before the approval. Changes with damaged entries
 * in the history are skipped. A column of a statement that reads `api_keys` and another table.
 */
export const EXPIRY_SET_AT = sql<number | null>`coalesce(
  (SELECT max(${keyEvents.at}) FROM ${keyEvents}
    WHERE ${keyEvents.identifier} = ${apiKeys.identifier} AND ${keyEvents.event} = 'changed'
      AND CASE WHEN json_valid(${keyEvents.detail}) THEN ${keyEvents.detail} ->> '$.changes.expiresAt.to' END IS NOT NULL),
  ${apiKeys.decidedAt})`;

/** The notice is to be sent, again or for the first time. */
export const IS_WAITING = eq(notices.result, 'waiting').inlineParams();

/** The notice is about a request, for an admin. */
export const IS_REQUEST = eq(notices.kind, 'request').inlineParams();

/** The notice is for the admins' webhook, not a mail. */
export const IS_FOR_WEBHOOK = eq(notices.recipient, WEBHOOK).inlineParams();

/** The notice is waiting and due. A time in the far future was stored before the clock was set back. */
export function isDue(now: number | Placeholder): SQL | undefined {
  return and(IS_WAITING, not(isPostponed(notices.nextTryAt, LONGEST_PAUSE_MS, now)));
}

/** The notices of one lane all go to one address, and are sent one at a time. */
export const LANE = sql<string>`coalesce(CASE ${notices.recipient} WHEN 'owner' THEN ${profiles.email}
  WHEN 'former address' THEN ${notices.about} ->> 'formerEmail' ELSE ${notices.recipient} END, '')`;

/** The detail of the history's entry that a notice is about; null if it has none, or was damaged. */
const DETAIL = sql`CASE WHEN json_valid(${keyEvents.detail}) THEN ${keyEvents.detail} END`.mapWith(
  (text: string): KeyEventDetail | null => JSON.parse(text),
);

/** The notices with the current data of their keys and profiles. */
export function selectNotices(db: Db | Tx) {
  return db
    .select({
      id: notices.id,
      kind: notices.kind,
      recipient: notices.recipient,
      lane: LANE,
      about: notices.about,
      at: notices.at,
      tries: sql`${notices.tries} + 1`.mapWith(notices.tries),
      /** The key that the notice is about; null if it is not about a key. */
      key: {
        identifier: apiKeys.identifier,
        state: apiKeys.state,
        keyName: apiKeys.name,
        description: apiKeys.description,
        requestedPermissions: apiKeys.requestedPermissions,
        projectUrl: apiKeys.projectUrl,
        expectedUsage: apiKeys.expectedUsage,
        /** The identifier of the key that this one is to replace, or null. */
        successorOf: apiKeys.successorOf,
        expiresAt: apiKeys.expiresAt,
        expirySetAt: EXPIRY_SET_AT,
      },
      /** The profile's id; this and what follows is null once the profile is erased, or if the notice is not about one. */
      uid: profiles.id,
      profile: profiles.username,
      email: profiles.email,
      isBanned: sql`coalesce(${profiles.banned}, 0)`.mapWith(profiles.banned),
      detail: DETAIL,
      /** The kind of actor who did that; null if there is no such entry. */
      byKind: keyEvents.byKind,
    })
    .from(notices)
    .leftJoin(apiKeys, eq(apiKeys.identifier, notices.identifier))
    .leftJoin(profiles, eq(profiles.id, sql`coalesce(${apiKeys.profileId}, ${notices.profileId})`))
    .leftJoin(keyEvents, eq(keyEvents.id, sql`${notices.about} ->> 'event'`));
}

/** A row of {@link selectNotices}. */
export type NoticeRow = ReturnType<ReturnType<typeof selectNotices>['all']>[number];

/** The key that a notice is about, in its current state. */
export type NoticeKey = NonNullable<NoticeRow['key']>;
