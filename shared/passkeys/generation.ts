import type { Random } from '../random.ts';

/** A new number for an admin's sessions and invitations to be bound to: 48 random bits, so that none occurs twice. */
export function newGeneration(random: Random): number {
  return Buffer.from(random(6)).readUIntBE(0, 6);
}
