// What the table `events` records.

/** The entries by what they are about. Those of a key are its history. */
export const EVENTS = {
  key: [
    ...['requested', 'approval started', 'approval refused', 'approval not confirmed', 'approved'],
    ...['rejected', 'withdrawn', 'suspended', 'resumed', 'revoked', 'edited', 'changed'],
    ...['address changed', 'profile banned', 'profile unbanned', 'erased'],
  ],
  admin: ['added', 'passkey registered', 'passkey removed', 'removed', 'left out', 'restored'],
  token: ['added', 'removed', 'left out', 'restored'],
  profile: ['banned', 'unbanned', 'erased'],
  database: ['restored'],
} as const;

/** What an entry is about. */
export type Subject = keyof typeof EVENTS;

/** The name of an entry about such a subject. */
export type EventName<About extends Subject = Subject> = (typeof EVENTS)[About][number];

/** The name of an entry of a key's history. */
export type KeyEventName = EventName<'key'>;
