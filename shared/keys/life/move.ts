import type { Actor } from '../../actor.ts';
import type { NoticeKind } from '../../db/key-columns.ts';
import { writeNow } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { addNotices } from '../../outbox/notice.ts';
import type { Move } from '../key.ts';
import { refuseUnlikeKey } from '../key-version.ts';
import { moveKey, readKey } from '../record.ts';

/** What an operation that changes a key leaves behind. */
export type Outcome = {
  identifier: string;
  /** The mails that were stored with it: the ids of rows of `notices`. Whoever asked for it decides who delivers them. */
  noticeIds: readonly number[];
  /** A sentence for whoever asked, where nothing had to be done or somebody is not told yet. */
  warning: string | null;
  /** The address that a secret was mailed to; for the terminal of whoever approved, and nobody else. */
  mailedTo?: string;
};

/** The mail to the owner that tells of a move. */
const NOTICE_OF_MOVE = {
  reject: 'rejection',
  suspend: 'suspension',
  resume: 'resumption',
  revoke: 'revocation',
} as const satisfies Partial<Record<Move, NoticeKind>>;

/**
 * Moves a key as an admin or its owner decided, and stores that the owner is to be told, with the reason where there is one
 * (its rules are checked before). Throws `not_found`, `refused`, `changed_since`, `signed_out`, `busy`.
 */
export function moveAndNotify(
  deps: Deps,
  move: keyof typeof NOTICE_OF_MOVE,
  { identifier, reason, by }: { identifier: string; reason: string | null; by: Actor },
): Outcome {
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey({ ...deps, db: tx }, identifier, by);
    const event = moveKey(tx, readKey(tx, identifier), move, act, reason === null ? {} : { detail: { reason } });
    const kind = NOTICE_OF_MOVE[move];
    const noticeIds = addNotices(tx, deps.config, { identifier, kind, about: { event }, atMs: nowMs });
    return { identifier, noticeIds, warning: null };
  });
}
