import type { KeyEventDetail } from '../db/schema/keys.ts';
import type { PeopleEventDetail } from '../db/schema/people.ts';
import { changesText } from '../keys/history-text.ts';
import type { LogKind } from './log-kinds.ts';

/** The parts of an entry's sentence. */
export type LoggedEvent = {
  kind: LogKind;
  /** The key's identifier, or the name of the admin or backend; empty without either. */
  name: string;
  profile: number | null;
  /** The number of erased profiles; 1 for other events. */
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
    `Approved key ${name}${detail?.retiresOldAt === undefined ? '' : `; the key that it replaces expires at ${detail.retiresOldAt}`}`,
  'key-rejected': ({ name }) => `Rejected the request for key ${name}`,
  'key-changed': ({ name, detail }) =>
    `Changed key ${name}${detail?.changes === undefined ? '' : `: ${changesText(detail.changes, detail.successor)}`}`,
  'key-suspended': ({ name }) => `Suspended key ${name}`,
  'key-resumed': ({ name }) => `Resumed key ${name}`,
  'key-revoked': ({ name }) => `Revoked key ${name}`,
  'admin-added': ({ name }) => `Added admin ${name}`,
  'admin-invited': ({ name, detail }) => `Invited admin ${name} again${endedText(detail)}`,
  'admin-passkey-registered': ({ name }) => `Registered a passkey of admin ${name}`,
  'admin-passkey-removed': ({ name }) => `Removed a passkey of admin ${name}`,
  'admin-removed': ({ name, detail }) => `Removed admin ${name}${endedText(detail)}`,
  'admin-left-out': ({ name, detail }) => `Left ${passkeyOr(detail)}admin ${name} out of a restore`,
  'admin-restored': ({ name, detail }) => `Restored ${passkeyOr(detail)}admin ${name} from a backup`,
  'token-added': ({ name, detail }) => `Added ${tokenText(name, detail)}${rightsText(detail)}`,
  'token-removed': ({ name, detail }) => `Removed ${tokenText(name, detail)}`,
  'token-left-out': ({ name, detail }) => `Left ${tokenText(name, detail)} out of a restore`,
  'token-restored': ({ name, detail }) => `Restored ${tokenText(name, detail)} from a backup`,
  'profile-banned': ({ profile }) => `Banned ${profileText(profile)}`,
  'profile-unbanned': ({ profile }) => `Lifted the ban of ${profileText(profile)}`,
  'profile-erased': ({ profile, count }) =>
    count > 1 ? `Erased ${count} profiles` : `Erased ${profile === null ? 'a profile' : profileText(profile)}`,
  'database-restored': () => 'Restored the database from a backup',
};

/**
 * The action as a sentence after the actor's name, without a full stop. Its only texts from people are the names of
 * admins and backends.
 */
export function logSentence(event: LoggedEvent): string {
  return SENTENCES[event.kind](event);
}

/** Text written by people: a reason, a key's names before and after, a passkey's name; empty if there is none. */
export function writtenText({ detail }: Pick<LoggedEvent, 'detail'>): string {
  if (detail?.nameAfter !== undefined) return `“${detail.nameBefore}” → “${detail.nameAfter}”`;
  return detail?.reason ?? detail?.passkey ?? '';
}

function endedText(detail: LoggedEvent['detail']): string {
  const ended = detail?.endedPasskeys ?? 0;
  return ended === 0 ? '' : `, which removed ${ended === 1 ? '1 passkey' : `${ended} passkeys`}`;
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
  return profile === null ? 'a profile that has since been erased' : `the profile with UID ${profile}`;
}
