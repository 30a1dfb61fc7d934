import type { Tx } from '../db/connect.ts';
import { addNotices, type NoticeConfig } from './notice.ts';

/** So many characters of what a browser calls itself are stored. */
const AGENT_LENGTH = 200;

/**
 * Stores that the owner of a profile is to be told of a sign-in from a browser or program that was not known before:
 * `address` is the client's, `agent` what it calls itself. For the transaction that makes it true, or one of its own.
 */
export function addSignInNotice(
  tx: Tx,
  config: NoticeConfig,
  signIn: { profileId: number; atMs: number; address: string; agent: string },
): void {
  const { profileId, atMs, address } = signIn;
  const agent = [...signIn.agent].slice(0, AGENT_LENGTH).join('');
  addNotices(tx, config, { kind: 'new-sign-in', profileId, about: { address, agent }, atMs });
}

/**
 * Stores that ADMIN_EMAIL is to be told that somebody registered a passkey under an admin's name, from a client's address,
 * which has to be confirmed on the box. Nobody is told where ADMIN_EMAIL is not set.
 */
export function addEnrolmentNotice(
  tx: Tx,
  config: NoticeConfig,
  enrolment: { admin: string; atMs: number; address: string },
): void {
  const { admin, atMs, address } = enrolment;
  addNotices(tx, config, { kind: 'enrolment', about: { admin, address }, atMs });
}
