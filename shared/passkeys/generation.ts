import type { Random } from '../random.ts';

/** A number that an admin's sessions and invitations are bound to: 48 random bits, so that none comes again. */
export function newGeneration(random: Random): number {
  return Buffer.from(random(6)).readUIntBE(0, 6);
}
