import type { Actor, Person } from '../../shared/actor.ts';

/** An actor with this name on the machine with the database. */
export function onBox(name: string): Actor & Person {
  return { kind: 'operator', name };
}
