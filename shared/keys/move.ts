import type { Actor } from '../actor.ts';
import type { NoticeKind } from '../db/key-columns.ts';
import { writeNow } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import type { Move } from './key.ts';
import { addNotices } from './notice.ts';
import { moveKey, readKey } from './record.ts';
import { refuseUnlikeKey } from './shown.ts';

/**
 * A step in the life of a key: which key, the ids of the notices that were stored with it, and a sentence for whoever took
 * it where nothing had to be done.
 */
export type Step = { identifier: string; noticeIds: number[]; warning?: string };

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
export function moveAndTell(
  deps: Deps,
  move: keyof typeof NOTICE_OF_MOVE,
  { identifier, reason, by }: { identifier: string; reason: string | null; by: Actor },
): Step {
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey({ ...deps, db: tx }, identifier, by);
    const event = moveKey(tx, readKey(tx, identifier), move, act, reason === null ? {} : { detail: { reason } });
    const kind = NOTICE_OF_MOVE[move];
    return { identifier, noticeIds: addNotices(tx, deps.config, { identifier, kind, about: { event }, atMs: nowMs }) };
  });
}
