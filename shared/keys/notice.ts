import type { Tx } from '../db/connect.ts';
import { NOTICE_KINDS, type NoticeKind } from '../db/key-columns.ts';
import { type NoticeAbout, notices } from '../db/schema.ts';
import type { Deps } from '../deps.ts';

/**
 * Stores that somebody is to be told something about a key, inside the transaction that makes it true: one row for the
 * owner, or one for each address of ADMIN_EMAIL. `shared/notices/deliver.ts` writes and sends the mails. Returns the rows'
 * ids; none where ADMIN_EMAIL is not set.
 */
export function addNotices(
  tx: Tx,
  { adminEmails }: Pick<Deps['config'], 'adminEmails'>,
  notice: { identifier: string; kind: NoticeKind; about: NoticeAbout; atMs: number },
): number[] {
  const { identifier, kind, about, atMs } = notice;
  const recipients = NOTICE_KINDS[kind] === 'owner' ? ['owner'] : adminEmails.map((_address, at) => `admin ${at + 1}`);
  return recipients.map((recipient) => {
    const row = { identifier, kind, recipient, about, at: atMs, nextTryAt: atMs };
    return tx.insert(notices).values(row).returning({ id: notices.id }).get().id;
  });
}
