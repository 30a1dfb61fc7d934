/** The events that the table `people_events` records. */
export const PEOPLE_EVENTS = [
  'added',
  'invited',
  'passkey registered',
  'passkey confirmed',
  'passkey removed',
  'removed',
  'left out of a restore',
  'put in by a restore',
] as const;

/** The name of such an event. */
export type PeopleEventName = (typeof PEOPLE_EVENTS)[number];
