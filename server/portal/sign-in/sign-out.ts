import { removeCookie } from '../requests/cookies.ts';
import type { Outcome, PageContext } from '../requests/request-context.ts';
import { endOwnSession } from './signed-in.ts';

/** `POST /developers/sign-out`: ends the session, and removes its cookie even if the end can't be stored. */
export function signOut(context: PageContext): Outcome {
  const flash = endOwnSession(context) ? 'signed-out' : 'signed-out-here';
  return { seeOther: '/developers', flash, cookies: [removeCookie(context.access.config, 'session')] };
}
