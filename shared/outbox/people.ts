import type { Tx } from '../db/connect.ts';
import { addNotices, type NoticeConfig } from './notice.ts';

/**
 * Notifies an owner of a sign-in from a new browser or program: `address` is the client's IP address, `agent` describes
 * the browser or program. Call it in the transaction of the sign-in, or in a separate one.
 */
export function addSignInNotice(
  tx: Tx,
  config: NoticeConfig,
  signIn: { profileId: number; atMs: number; address: string; agent: string },
): void {
  const { profileId, atMs, address, agent } = signIn;
  addNotices(tx, config, { kind: 'new-sign-in', profileId, about: { address, agent }, atMs });
}

/**
 * Notifies ADMIN_EMAIL, if it is set, of a passkey that was registered under an admin's name from this IP address.
 */
export function addEnrolmentNotice(
  tx: Tx,
  config: NoticeConfig,
  enrolment: { admin: string; atMs: number; address: string },
): void {
  const { admin, atMs, address } = enrolment;
  addNotices(tx, config, { kind: 'enrolment', about: { admin, address }, atMs });
}
