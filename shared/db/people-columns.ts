/** The events that the table `people_events` records. */
export const PEOPLE_EVENTS = [
  'added',
  'invited',
  'passkey registered',
  'passkey removed',
  'removed',
  'left out of a restore',
  'added by a restore',
] as const;

/** The name of such an event. */
export type PeopleEventName = (typeof PEOPLE_EVENTS)[number];

/** What a backend's token may do: send profiles, and sign its users in as owners. */
export const BACKEND_RIGHTS = ['profiles', 'sign-ins'] as const;

/** A right of a backend's token. */
export type BackendRight = (typeof BACKEND_RIGHTS)[number];

/** The events that the table `service_events` records. */
export const SERVICE_EVENTS = ['banned', 'unbanned', 'erased', 'restored'] as const;

/** The name of such an event. */
export type ServiceEventName = (typeof SERVICE_EVENTS)[number];
