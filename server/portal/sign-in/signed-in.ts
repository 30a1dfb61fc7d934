import type { SignedAdmin } from '../../../shared/sessions-file/whose.ts';
import { KNOWN_FOR_MS } from '../../../shared/sign-in/known-browsers.ts';
import { PERIODS } from '../../../shared/sign-ins/periods.ts';
import { endSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { notifyOfSignIns } from '../../upkeep/sweep.ts';
import { removeCookie, setCookie } from '../requests/cookies.ts';
import type { Outcome, PageContext } from '../requests/request-context.ts';

/** The signed-in admin; only for pages that require one. */
export function signedAdmin({ session }: PageContext): SignedAdmin {
  return session?.signed as SignedAdmin;
}

/** The cookies of a sign-in. Admins have no known browsers. */
type SignIn = { kind: 'owner' | 'admin'; token: string; knownBrowser?: string };

/** The outcome of a sign-in: its cookies, and a redirect to `seeOther`. Ends the previous session of this browser. */
export function finishSignIn(context: PageContext, { kind, token, knownBrowser }: SignIn, seeOther: string): Outcome {
  const { config } = context.access;
  const known = knownBrowser === undefined ? [] : [setCookie(config, 'known', knownBrowser, KNOWN_FOR_MS / 1000)];
  endOwnSession(context);
  return {
    seeOther,
    cookies: [
      setCookie(config, 'session', token, PERIODS[kind].maxMs / 1000),
      ...known,
      removeCookie(config, 'sign-in'),
    ],
    after: (signal) => notifyOfSignIns(context.services, signal),
  };
}

/**
 * Ends the session of this browser, if it has one. If that can't be stored, logs why and returns false: the browser forgets
 * the session anyway, but the session stays valid until it expires.
 */
export function endOwnSession({ access, session, services }: PageContext): boolean {
  if (session === null) return true;
  try {
    endSignIn(access, session.signed, session.id);
    return true;
  } catch (error) {
    services.report('error', 'The end of a session could not be stored.', error);
    return false;
  }
}
