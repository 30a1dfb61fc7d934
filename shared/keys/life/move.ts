import type { Actor } from '../../actor.ts';
import type { NoticeKind } from '../../db/key-columns.ts';
import { writeNow } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { addNotices } from '../../outbox/notice.ts';
import type { Move } from '../key.ts';
import { refuseUnlikeKey } from '../key-version.ts';
import { moveKey, readKey } from '../record.ts';

/** The output of an operation that changes a key. */
export type Outcome = {
  identifier: string;
  /** The ids of the stored mails (rows of `notices`). The caller decides who sends them. */
  noticeIds: readonly number[];
  /** A sentence for the actor if nothing had to be done, or a mail is still waiting; otherwise null. */
  warning: string | null;
  /** The address to which a secret was mailed; only for the approver's terminal. */
  mailedTo?: string;
};

const NOTICE_OF_MOVE = {
  reject: 'rejection',
  suspend: 'suspension',
  resume: 'resumption',
  revoke: 'revocation',
} as const satisfies Partial<Record<Move, NoticeKind>>;

/**
 * Moves a key and notifies the owner, with the reason if there is one. Throws `not_found`, `refused`, `changed_since`,
 * `signed_out`.
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
