import type { KeyEventDetail } from '../db/schema/keys.ts';
import type { PeopleEventDetail } from '../db/schema/people.ts';
import { changesText } from '../keys/history-text.ts';
import type { LogKind } from './log-kinds.ts';

/** The parts of an entry's sentence. */
export type LoggedEvent = {
  kind: LogKind;
  /** The key's identifier, or the name of the admin or backend; empty if there is neither. */
  name: string;
  /** The UID of the profile; null if no longer known. */
  profile: number | null;
  /** How many profiles were erased; 1 for anything else. */
  count: number;
  detail: (KeyEventDetail & PeopleEventDetail) | null;
};

type Sentence = (event: LoggedEvent) => string;

const SENTENCES: Record<LogKind, Sentence> = {
  'key-requested': ({ name, detail }) =>
    `Requested key ${name}${detail?.successorOf === undefined ? '' : ` to replace ${detail.successorOf}`}`,
  'key-edited': ({ name }) => `Renamed key ${name}`,
  'key-withdrawn': ({ name }) => `Withdrew the request for key ${name}`,
  'key-approved': ({ name, detail }) =>
    `Approved key ${name}${detail?.retiresOldAt === undefined ? '' : `; the key that it replaces ends at ${detail.retiresOldAt}`}`,
  'key-rejected': ({ name }) => `Rejected the request for key ${name}`,
  'key-changed': ({ name, detail }) =>
    `Changed key ${name}${detail?.changes === undefined ? '' : `: ${changesText(detail.changes, detail.successor)}`}`,
  'key-suspended': ({ name }) => `Suspended key ${name}`,
  'key-resumed': ({ name }) => `Resumed key ${name}`,
  'key-revoked': ({ name }) => `Revoked key ${name}`,
  'admin-added': ({ name }) => `Added the admin ${name}`,
  'admin-invited': ({ name, detail }) => `Invited the admin ${name} again${endedText(detail)}`,
  'admin-passkey-registered': ({ name }) => `Registered a passkey of the admin ${name}`,
  'admin-passkey-confirmed': ({ name }) => `Confirmed a passkey of the admin ${name}`,
  'admin-passkey-removed': ({ name }) => `Removed a passkey of the admin ${name}`,
  'admin-removed': ({ name, detail }) => `Removed the admin ${name}${endedText(detail)}`,
  'admin-left-out': ({ name, detail }) => `Left ${passkeyOr(detail)}the admin ${name} out of a restore`,
  'admin-put-in': ({ name, detail }) => `Put ${passkeyOr(detail)}the admin ${name} back by a restore`,
  'token-added': ({ name, detail }) => `Added ${tokenText(name, detail)}${rightsText(detail)}`,
  'token-removed': ({ name, detail }) => `Removed ${tokenText(name, detail)}`,
  'token-left-out': ({ name, detail }) => `Left ${tokenText(name, detail)} out of a restore`,
  'token-put-in': ({ name, detail }) => `Put ${tokenText(name, detail)} back by a restore`,
  'profile-banned': ({ profile }) => `Banned ${profileText(profile)}`,
  'profile-unbanned': ({ profile }) => `Lifted the ban of ${profileText(profile)}`,
  'profile-erased': ({ profile, count }) =>
    count > 1 ? `Erased ${count} profiles` : `Erased ${profile === null ? 'a profile' : profileText(profile)}`,
  'database-restored': () => 'Restored the database from a backup',
};

/**
 * What somebody did, as a sentence to follow their name, without a full stop. The only text from people in it is names
 * of admins and backends.
 */
export function logSentence(event: LoggedEvent): string {
  return SENTENCES[event.kind](event);
}

/** What people wrote about it: a reason, a key's names before and after, a passkey's name; empty if nothing. */
export function writtenText({ detail }: Pick<LoggedEvent, 'detail'>): string {
  if (detail?.nameAfter !== undefined) return `“${detail.nameBefore}” → “${detail.nameAfter}”`;
  return detail?.reason ?? detail?.passkey ?? '';
}

function endedText(detail: LoggedEvent['detail']): string {
  const ended = detail?.endedPasskeys ?? 0;
  return ended === 0 ? '' : `, which ended ${ended === 1 ? '1 passkey' : `${ended} passkeys`}`;
}

function passkeyOr(detail: LoggedEvent['detail']): string {
  return detail?.passkey === undefined ? '' : 'a passkey of ';
}

function tokenText(name: string, detail: LoggedEvent['detail']): string {
  return `the token ${detail?.token ?? ''} of the backend ${name}`;
}

function rightsText(detail: LoggedEvent['detail']): string {
  return detail?.rights === undefined ? '' : `, which may use ${detail.rights.join(' and ')}`;
}

function profileText(profile: number | null): string {
  return profile === null ? 'a profile that is erased now' : `the profile with UID ${profile}`;
}
