import { and, eq, lte, or, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { apiKeys, type KeyEventDetail, keyEvents } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { profiles } from '../db/schema/profiles.ts';
import { WEBHOOK } from './notice.ts';
import { LONGEST_PAUSE_MS } from './retry-policy.ts';

// What the statements on notices are made of. A value that an index has in its condition stands in the text of a statement,
// since SQLite uses such an index for no parameter. Times are milliseconds since 1970.

/**
 * When the key was given its expiry: by the last change of it, or by its approval; null before its approval. A change whose
 * entry in the history is damaged is passed over. A column of a statement that reads `api_keys` and another table.
 */
export const EXPIRY_SET_AT = sql<number | null>`coalesce(
  (SELECT max(${keyEvents.at}) FROM ${keyEvents}
    WHERE ${keyEvents.identifier} = ${apiKeys.identifier} AND ${keyEvents.event} = 'changed'
      AND CASE WHEN json_valid(${keyEvents.detail}) THEN ${keyEvents.detail} ->> '$.changes.expiresAt.to' END IS NOT NULL),
  ${apiKeys.decidedAt})`;

/** The notice is to be sent, again or for the first time. */
export const IS_WAITING = eq(notices.result, 'waiting').inlineParams();

/** The notice tells an admin of a request. */
export const IS_REQUEST = eq(notices.kind, 'request').inlineParams();

/** The notice is for the webhook of the admins, and no mail. */
export const IS_FOR_WEBHOOK = eq(notices.recipient, WEBHOOK).inlineParams();

/** It waits, and its time has come. A time in the far future is one that was stored before the clock was set back. */
export function isDue(now: number | Placeholder): SQL | undefined {
  const isAhead = sql`${notices.nextTryAt} > ${now} + ${LONGEST_PAUSE_MS}`;
  return and(IS_WAITING, or(lte(notices.nextTryAt, now), isAhead));
}

/** Of several notices of one lane, which all go to one address, one is sent at a time. */
export const LANE = sql<string>`coalesce(CASE ${notices.recipient} WHEN 'owner' THEN ${profiles.email}
  WHEN 'former address' THEN ${notices.about} ->> 'formerEmail' ELSE ${notices.recipient} END, '')`;

/** What the entry of the history says that a notice tells of; null where that says nothing, or was damaged. */
const DETAIL = sql`CASE WHEN json_valid(${keyEvents.detail}) THEN ${keyEvents.detail} END`.mapWith(
  (text: string): KeyEventDetail | null => JSON.parse(text),
);

/** The notices with what is known at this moment of their keys and profiles. */
export function selectNotices(db: Db | Tx) {
  return db
    .select({
      id: notices.id,
      kind: notices.kind,
      recipient: notices.recipient,
      lane: LANE,
      about: notices.about,
      at: notices.at,
      tries: sql<number>`${notices.tries} + 1`,
      /** The key that the notice is about; null where it is not about a key. */
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
      /** The profile's id; this and what follows is null once the profile is erased, and where it is not about a profile. */
      uid: profiles.id,
      profile: profiles.username,
      email: profiles.email,
      isBanned: sql`coalesce(${profiles.banned}, 0)`.mapWith(profiles.banned),
      detail: DETAIL,
      /** What kind of actor did that; null where there is no such entry. */
      byKind: keyEvents.byKind,
    })
    .from(notices)
    .leftJoin(apiKeys, eq(apiKeys.identifier, notices.identifier))
    .leftJoin(profiles, eq(profiles.id, sql`coalesce(${apiKeys.profileId}, ${notices.profileId})`))
    .leftJoin(keyEvents, eq(keyEvents.id, sql`${notices.about} ->> 'event'`));
}

/** A row of {@link selectNotices}. */
export type NoticeRow = ReturnType<ReturnType<typeof selectNotices>['all']>[number];

/** The key that a notice is about, as it stands at this moment. */
export type NoticeKey = NonNullable<NoticeRow['key']>;
