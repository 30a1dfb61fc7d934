import { endSession } from '../../../shared/access/sessions.ts';
import { removeCookie } from '../cookies.ts';
import type { Outcome, Visit } from '../visit.ts';

/** `POST /developers/sign-out`: ends the session, and removes its cookie in any case. */
export function signOut({ access, session }: Visit): Outcome {
  if (session !== null) endSession(access, session.signed, session.id);
  return { seeOther: '/developers', flash: 'signed-out', cookies: [removeCookie(access.config, 'session')] };
}
