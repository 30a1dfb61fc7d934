import { write } from '../../../shared/db/write.ts';
import type { Deps } from '../../../shared/deps.ts';
import { handOver } from '../../../shared/sign-in/hand-over.ts';
import { beginSignIn, type SignedAs } from '../../../shared/sign-in/sessions.ts';
import { addToken } from '../../../shared/tokens.ts';
import { onBox } from '../actors.ts';
import { notedRandom } from '../secret-search.ts';

/** Hands over the owner of a profile with a backend's token, and returns the ticket in the URL. */
export function ticketFor(access: Deps, uid: number, openedBy = openerFor(access)): string {
  return new URL(handOver(access, { uid }, openedBy).address).searchParams.get('ticket') as string;
}

/** Adds a backend's token for handing over users, and returns its identifier. */
export function openerFor(access: Deps, name = `backend ${Bun.randomUUIDv7()}`): string {
  return addToken(access, { name, rights: ['sign-ins'], excludesContactFields: false }, onBox('root')).identifier;
}

/** What a sign-in records about the browser. */
export const CLIENT = { address: '192.0.2.7', agent: 'A browser' };

/** The owner of a profile, for {@link signedIn} and for functions about all of a person's sign-ins. */
export function ownerOf(profileId: number): SignedAs {
  return { profileId, adminId: null };
}

/** Signs a person in without a code or a passkey, and returns the token. */
export function signedIn(access: Deps, as: SignedAs, client = CLIENT): string {
  return write(access.db, (tx) => beginSignIn(tx, access, as, client));
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
