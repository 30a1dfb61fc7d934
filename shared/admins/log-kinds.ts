import type { KeyEventName } from '../db/key-columns.ts';
import type { PeopleEventName, ServiceEventName } from '../db/people-columns.ts';

// The kinds of entries in the log of people's actions. Actions of the service itself, and the results of mails, are in
// the histories of keys.

const KEYS = {
  'key-requested': 'requested',
  'key-edited': 'edited',
  'key-withdrawn': 'withdrawn',
  'key-approved': 'approved',
  'key-rejected': 'rejected',
  'key-changed': 'changed',
  'key-suspended': 'suspended',
  'key-resumed': 'resumed',
  'key-revoked': 'revoked',
} as const satisfies Record<string, KeyEventName>;

const ADMINS = {
  'admin-added': 'added',
  'admin-invited': 'invited',
  'admin-passkey-registered': 'passkey registered',
  'admin-passkey-removed': 'passkey removed',
  'admin-removed': 'removed',
  'admin-left-out': 'left out of a restore',
  'admin-restored': 'added by a restore',
} as const satisfies Record<string, PeopleEventName>;

const TOKENS = {
  'token-added': 'added',
  'token-removed': 'removed',
  'token-left-out': 'left out of a restore',
  'token-restored': 'added by a restore',
} as const satisfies Record<string, PeopleEventName>;

const BANS = { 'profile-banned': 'banned', 'profile-unbanned': 'unbanned' } as const satisfies ServiceKinds;
const ERASURES = { 'profile-erased': 'erased' } as const satisfies ServiceKinds;
const RESTORES = { 'database-restored': 'restored' } as const satisfies ServiceKinds;

type ServiceKinds = Record<string, ServiceEventName>;

/** The kinds by subject. A filter may name these groups instead of single kinds. */
const GROUPS = { keys: KEYS, admins: ADMINS, tokens: TOKENS, bans: BANS, erasures: ERASURES, restores: RESTORES };

/** The kind of an entry, as `profilectl log --json` prints it. */
export type LogKind =
  | keyof typeof KEYS
  | keyof typeof ADMINS
  | keyof typeof TOKENS
  | keyof typeof BANS
  | keyof typeof ERASURES
  | keyof typeof RESTORES;

/** One of the groups of kinds. */
export type LogGroup = keyof typeof GROUPS;

/** Each group with its kinds, in display order. */
export const LOG_GROUPS = Object.entries(GROUPS).map(([group, kinds]) => ({
  group: group as LogGroup,
  kinds: Object.keys(kinds) as LogKind[],
}));

/** Whether a string is a group or a kind. */
export function isLogKind(text: string): text is LogKind | LogGroup {
  return LOG_GROUPS.some(({ group, kinds }) => group === text || kinds.some((kind) => kind === text));
}

/** The events of each table that a list of groups and kinds selects; all events without a list. */
export type SelectedEvents = {
  keys: KeyEventName[];
  admins: PeopleEventName[];
  tokens: PeopleEventName[];
  service: ServiceEventName[];
};

/** Determines which events to read. */
export function eventsOf(selected?: readonly (LogKind | LogGroup)[]): SelectedEvents {
  const isSelected = (group: LogGroup, kind: string) =>
    selected === undefined || selected.some((one) => one === group || one === kind);
  const pick = <Event>(group: LogGroup, kinds: Record<string, Event>) =>
    Object.entries(kinds).flatMap(([kind, event]) => (isSelected(group, kind) ? [event] : []));
  return {
    keys: pick('keys', KEYS),
    admins: pick('admins', ADMINS),
    tokens: pick('tokens', TOKENS),
    service: [...pick('bans', BANS), ...pick('erasures', ERASURES), ...pick<ServiceEventName>('restores', RESTORES)],
  };
}

/** The kind of the entry for an event of a table. */
export function kindOf(table: keyof SelectedEvents, event: string): LogKind {
  const kinds = table === 'service' ? { ...BANS, ...ERASURES, ...RESTORES } : GROUPS[table];
  const found = Object.entries(kinds).find(([, one]) => one === event);
  return found?.[0] as LogKind;
}
