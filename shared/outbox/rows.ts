import { and, eq, not, type Placeholder, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/connect.ts';
import { isPostponed } from '../db/live.ts';
import { apiKeys, type KeyEventDetail, keyEvents } from '../db/schema/keys.ts';
import { notices } from '../db/schema/notices.ts';
import { profiles } from '../db/schema/profiles.ts';
import { WEBHOOK } from './notice.ts';
import { LONGEST_PAUSE_MS } from './retry-policy.ts';

// Parts of statements on notices. Values in the condition of a partial index are inlined, because SQLite does not use
// such an index for parameters. Times are milliseconds since 1970.

/**
 * When the key's expiry was set: by the latest change or by its approval; null before the approval. Damaged entries of
 * the history are skipped. A column of a statement that reads `api_keys` and another table.
 */
export const EXPIRY_SET_AT = sql<number | null>`coalesce(
  (SELECT max(${keyEvents.at}) FROM ${keyEvents}
    WHERE ${keyEvents.identifier} = ${apiKeys.identifier} AND ${keyEvents.event} = 'changed'
      AND CASE WHEN json_valid(${keyEvents.detail}) THEN ${keyEvents.detail} ->> '$.changes.expiresAt.to' END IS NOT NULL),
  ${apiKeys.decidedAt})`;

/** The notice still has to be sent, perhaps again. */
export const IS_WAITING = eq(notices.result, 'waiting').inlineParams();

/** The notice is about a request, and for an admin. */
export const IS_REQUEST = eq(notices.kind, 'request').inlineParams();

/** The notice is for the webhook, not a mail. */
export const IS_FOR_WEBHOOK = eq(notices.recipient, WEBHOOK).inlineParams();

/** The notice is waiting and due. Times in the far future were stored before the clock was set back. */
export function isDue(now: number | Placeholder): SQL | undefined {
  return and(IS_WAITING, not(isPostponed(notices.nextTryAt, LONGEST_PAUSE_MS, now)));
}

/** The lane of a notice: those of one lane go to one e-mail address, and are sent one at a time. */
export const LANE = sql<string>`coalesce(CASE ${notices.recipient} WHEN 'owner' THEN ${profiles.email}
  WHEN 'former address' THEN ${notices.about} ->> 'formerEmail' ELSE ${notices.recipient} END, '')`;

/** The detail of the entry of the history that a notice is about; null if it has none, or is damaged. */
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
      /** Null if the notice is not about a key. */
      key: {
        identifier: apiKeys.identifier,
        state: apiKeys.state,
        keyName: apiKeys.name,
        description: apiKeys.description,
        requestedPermissions: apiKeys.requestedPermissions,
        projectUrl: apiKeys.projectUrl,
        expectedUsage: apiKeys.expectedUsage,
        successorOf: apiKeys.successorOf,
        expiresAt: apiKeys.expiresAt,
        expirySetAt: EXPIRY_SET_AT,
      },
      /**
       * The profile's id. This and all following fields are null once the profile is erased, or if the notice is not
       * about one.
       */
      uid: profiles.id,
      profile: profiles.username,
      email: profiles.email,
      isBanned: sql`coalesce(${profiles.banned}, 0)`.mapWith(profiles.banned),
      detail: DETAIL,
      /** The actor of the history's entry; null if there is no such entry. */
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
