import { afterAll } from 'bun:test';
import { addToken } from '../../../shared/backends/backend-tokens.ts';
import type { Deps } from '../../../shared/deps.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { handOver } from '../../../shared/sign-in/hand-over.ts';
import { readAdminGeneration } from '../../../shared/sign-ins/admin-binding.ts';
import { onBox } from '../actors.ts';
import { notedRandom } from '../secret-search.ts';
import { testDeps } from '../world.ts';

/** An address where a platform's backend hands the owner of a profile over, with a token that it asks with; its secret. */
export function ticketFor(access: Access, uid: number, openedBy = openerFor(access)): string {
  return new URL(handOver(access, { uid }, openedBy).address).searchParams.get('ticket') as string;
}

/** Adds a token of a backend that may hand its users over; returns the identifier. Each name has two at a time. */
export function openerFor(access: Access, name = `backend ${Bun.randomUUIDv7()}`): string {
  const wanted = { name, rights: ['sign-ins'], isWithoutAddress: false, eraseLimit: 0 };
  return addToken(access, wanted, onBox('root')).identifier;
}

/** The identity of an admin for a session that begins now; null if no admin of this name has a confirmed passkey. */
export function adminToSign(access: Access, name: string): Signed | null {
  const generation = readAdminGeneration(access.db, name);
  return generation === null ? null : { kind: 'admin', name, generation };
}

/** What a sign-in knows of the browser. */
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
