import { endSignIn, PERIODS } from '../../../shared/sign-in/sessions.ts';
import { removeCookie, setCookie } from '../requests/cookies.ts';
import type { Outcome, PageContext } from '../requests/request-context.ts';

/** The outcome of a sign-in: its cookie, and a redirect to `seeOther`. Ends the previous session of this browser. */
export function finishSignIn(
  context: PageContext,
  { kind, token }: { kind: 'owner' | 'admin'; token: string },
  seeOther: string,
): Outcome {
  const { config } = context.access;
  endOwnSession(context);
  return {
    seeOther,
    cookies: [
      setCookie(config, 'session', token, PERIODS[kind].maxMs / 1000),
      removeCookie(config, 'sign-in'),
      removeCookie(config, 'typed'),
    ],
  };
}

/**
 * Ends the session of this browser, if it has one. If that can't be stored, logs why and returns false: the browser forgets
 * the session anyway, but the session stays valid until it expires.
 */
export function endOwnSession({ access, session, services }: PageContext): boolean {
  if (session === null) return true;
  try {
    endSignIn(access, session, session.id);
    return true;
  } catch (error) {
    services.report('error', 'The end of a session could not be stored.', error);
    return false;
  }
}
