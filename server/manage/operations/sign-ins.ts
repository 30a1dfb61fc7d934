import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import { AppError } from '../../../shared/errors.ts';
import { type HandedOver, handOver } from '../../../shared/sign-in/hand-over.ts';
import { type Answered, type Call, platformTokenOf } from '../request-context.ts';

/**
 * `POST /manage/v1/sign-ins`: an address to which the backend sends a user who is signed in with it. Throws `bad_body` where
 * the body does not name one profile, and `not_found`.
 */
export async function signIns({ access, caller, body }: Call): Promise<Answered> {
  const who = whoIn(body);
  await whenUnlocked(access.sessions.sqlite);
  return { body: handOver(access, who, platformTokenOf({ caller }).identifier) };
}

function whoIn({ uid, authId }: Call['body']): HandedOver {
  if (uid !== undefined && authId === undefined && Number.isSafeInteger(uid) && (uid as number) >= 1) {
    return { uid: uid as number };
  }
  if (authId !== undefined && uid === undefined && typeof authId === 'string' && authId !== '') return { authId };
  throw new AppError('bad_body', 'Name the profile by uid, a whole number from 1, or by authId, a text; not by both.');
}
