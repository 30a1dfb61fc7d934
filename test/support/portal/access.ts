import { afterAll } from 'bun:test';
import { addToken } from '../../../shared/backends/backend-tokens.ts';
import type { Deps } from '../../../shared/deps.ts';
import { readAdminGeneration } from '../../../shared/keys/life/admin-generation.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { closeSessionsFile, openSessionsFile } from '../../../shared/sessions-file/sessions-file.ts';
import { sessionsPath } from '../../../shared/sessions-file/sessions-path.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { handOver } from '../../../shared/sign-in/hand-over.ts';
import { onBox } from '../actors.ts';
import { notedRandom } from '../secret-search.ts';
import { copying, testDeps } from '../world.ts';

/** Hands over the owner of a profile with a backend's token, and returns the ticket in the URL. */
export function ticketFor(access: Access, uid: number, openedBy = openerFor(access)): string {
  return new URL(handOver(access, { uid }, openedBy).address).searchParams.get('ticket') as string;
}

/** Adds a backend's token for handing over users, and returns its identifier. A name can have two tokens at a time. */
export function openerFor(access: Access, name = `backend ${Bun.randomUUIDv7()}`): string {
  const wanted = { name, rights: ['sign-ins'], excludesContactFields: false, eraseLimit: 0 };
  return addToken(access, wanted, onBox('root')).identifier;
}

/** The identity of an admin for a new session; null if no admin with this name has a confirmed passkey. */
export function adminToSign(access: Access, name: string): Signed | null {
  const generation = readAdminGeneration(access.db, name);
  return generation === null ? null : { kind: 'admin', name, generation };
}

/** What a sign-in records about the browser. */
export const CLIENT = { address: '192.0.2.7', agent: 'A browser' };

/** Creates an empty sessions file, with the same key each time. */
const createSessionsFile = copying(() => {
  const { config } = testDeps();
  const sessions = openSessionsFile(config.databasePath);
  closeSessionsFile(sessions);
  return sessions.path;
});

/** Dependencies on a new database and its sessions file, which is closed when the test file is done. */
export function testAccess(
  changes: Partial<Deps> & { variables?: Record<string, string> } = {},
): Access & { folder: string } {
  const deps = testDeps(changes);
  createSessionsFile(sessionsPath(deps.config.databasePath));
  const sessions = openSessionsFile(deps.config.databasePath);
  sessions.db.$client.run('PRAGMA synchronous = OFF');
  afterAll(() => closeSessionsFile(sessions));
  return { ...deps, sessions };
}

/** Makes codes predictable: they alone request five bytes, which count up. `lastCode` is the latest code. */
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
