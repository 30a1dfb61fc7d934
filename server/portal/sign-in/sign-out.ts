import { removeCookie } from '../requests/cookies.ts';
import type { Outcome, Visit } from '../requests/request-context.ts';
import { endOwnSession } from './signed-in.ts';

/** `POST /developers/sign-out`: ends the session, and removes its cookie even if the end can't be stored. */
export function signOut(visit: Visit): Outcome {
  const flash = endOwnSession(visit) ? 'signed-out' : 'signed-out-here';
  return { seeOther: '/developers', flash, cookies: [removeCookie(visit.access.config, 'session')] };
}
