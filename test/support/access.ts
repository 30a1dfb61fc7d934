import { afterAll } from 'bun:test';
import type { Access } from '../../shared/access/access.ts';
import { closeSessionsFile, openSessionsFile } from '../../shared/access/sessions-file.ts';
import type { Deps } from '../../shared/deps.ts';
import { notedRandom } from './secret-search.ts';
import { testDeps } from './world.ts';

/** A browser that asks, as far as a sign-in is told of. */
export const CLIENT = { address: '192.0.2.7', agent: 'A browser' };

/** Dependencies on a new database with a sessions file beside it; the file is closed when the test file is done. */
export function testAccess(
  changes: Partial<Deps> & { variables?: Record<string, string> } = {},
): Access & { folder: string } {
  const deps = testDeps(changes);
  const sessions = openSessionsFile(deps.config.databasePath);
  afterAll(() => closeSessionsFile(sessions));
  return { ...deps, sessions };
}

/**
 * Randomness that makes every code a known one: five bytes at once, which only codes need, count up from `start`.
 * `lastCode` is the code that they made last.
 */
export function countingCodes(start = 1) {
  let next = start;
  return {
    random: (bytes: number) => {
      if (bytes !== 5) return notedRandom(bytes);
      const drawn = new Uint8Array(5);
      new DataView(drawn.buffer).setUint32(1, next++);
      return drawn;
    },
    lastCode: () =>
      [...(next - 1).toString(32).padStart(8, '0')]
        .map((digit) => '0123456789ABCDEFGHJKMNPQRSTVWXYZ'[Number.parseInt(digit, 32)])
        .join(''),
  };
}
