import type { Actor } from '../../actor.ts';
import { writeNow } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { type KeyNews, mailOwner } from '../../mail/outbox.ts';
import type { Text } from '../../mail/texts/compose.ts';
import { rejectionMail, resumptionMail, revocationMail, suspensionMail } from '../../mail/texts/key-mails.ts';
import type { Move } from '../key.ts';
import { moveKey, readKey } from '../record.ts';
import { refuseUnlikeKey } from '../revision.ts';

/** The output of an operation that changes a key. */
export type Outcome = {
  identifier: string;
  /** The ids of the stored mails. The caller decides who sends them. */
  mailIds: readonly number[];
  /** A sentence for the actor if nothing had to be done, or a mail is still waiting; otherwise null. */
  warning: string | null;
  /** The address to which a secret was mailed; only for the approver's terminal. */
  mailedTo?: string;
};

type News = KeyNews & { reason: string | null; isOwnDoing: boolean };

const MAIL_OF_MOVE = {
  reject: rejectionMail,
  suspend: suspensionMail,
  resume: resumptionMail,
  revoke: revocationMail,
} satisfies Partial<Record<Move, (news: News) => Text>>;

/**
 * Moves a key and notifies the owner, with the reason if there is one. Throws `not_found`, `refused`, `changed_since`,
 * `signed_out`.
 */
export function moveAndNotify(
  deps: Deps,
  move: keyof typeof MAIL_OF_MOVE,
  { identifier, reason, by }: { identifier: string; reason: string | null; by: Actor },
): Outcome {
  return writeNow(deps, (tx, nowMs) => {
    const act = { by, atMs: nowMs };
    refuseUnlikeKey(tx, identifier, by);
    moveKey(tx, readKey(tx, identifier), move, act, reason === null ? {} : { detail: { reason } });
    const said = { reason, isOwnDoing: by.kind === 'owner' };
    const mailIds = mailOwner(tx, deps.config, identifier, (news) => MAIL_OF_MOVE[move]({ ...news, ...said }), act);
    return { identifier, mailIds, warning: null };
  });
}
