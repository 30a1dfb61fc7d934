import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import { AppError } from '../../../shared/errors.ts';
import { type HandedOver, handOver } from '../../../shared/sign-in/hand-over.ts';
import { backendTokenOf, type Call, type JsonAnswer } from '../request-context.ts';

/**
 * `POST /manage/v1/sign-ins`: makes an address to which the backend sends a user whom it has signed in. Throws `bad_body` if
 * the body does not name one profile, and `not_found`.
 */
export async function signIns({ access, caller, body, waitUntilMs }: Call): Promise<JsonAnswer> {
  const who = whoIn(body);
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  return { body: handOver(access, who, backendTokenOf({ caller }).identifier) };
}

function whoIn({ uid, authId }: Call['body']): HandedOver {
  if (uid !== undefined && authId === undefined && Number.isSafeInteger(uid) && (uid as number) >= 1) {
    return { uid: uid as number };
  }
  if (authId !== undefined && uid === undefined && typeof authId === 'string' && authId !== '') return { authId };
  throw new AppError('bad_body', 'Name the profile by uid, a whole number from 1, or by authId, a text; not by both.');
}
