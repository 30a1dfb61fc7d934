import type { Actor, Person } from '../../shared/actor.ts';

/** Whoever has this name on the machine that holds the database. */
export function onBox(name: string): Actor & Person {
  return { kind: 'operator', name };
}
