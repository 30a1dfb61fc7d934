import type { SignedAdmin } from '../../../shared/sessions-file/whose.ts';
import { KNOWN_FOR_MS } from '../../../shared/sign-in/known-browsers.ts';
import { PERIODS } from '../../../shared/sign-ins/periods.ts';
import { endSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { notifyOfSignIns } from '../../thread/sign-in-notices.ts';
import { removeCookie, setCookie } from '../requests/cookies.ts';
import type { Outcome, Visit } from '../requests/request-context.ts';

/** Who visits a page that is for admins only. */
export function signedAdmin({ session }: Visit): SignedAdmin {
  return session?.signed as SignedAdmin;
}

/** What a sign-in has made: the tokens of cookies. Admins' browsers are not known. */
type Made = { kind: 'owner' | 'admin'; token: string; knownBrowser?: string };

/**
 * What a sign-in is answered with: its cookies and the page to go on to. Whoever was signed in with this browser before is not
 * any more.
 */
export function goOnSignedIn(visit: Visit, { kind, token, knownBrowser }: Made, seeOther: string): Outcome {
  const { config } = visit.access;
  const known = knownBrowser === undefined ? [] : [setCookie(config, 'known', knownBrowser, KNOWN_FOR_MS / 1000)];
  endOwnSession(visit);
  return {
    seeOther,
    flash: 'signed-in',
    cookies: [
      setCookie(config, 'session', token, PERIODS.browser[kind].mostMs / 1000),
      ...known,
      removeCookie(config, 'sign-in'),
    ],
    after: (signal) => notifyOfSignIns(visit.pages, signal),
  };
}

/**
 * Ends the session of this browser, if it has one. Returns false, and tells the log why, where that could not be stored: then
 * the browser forgets the session all the same, and it goes on until its time is over.
 */
export function endOwnSession({ access, session, pages }: Visit): boolean {
  if (session === null) return true;
  try {
    endSignIn(access, session.signed, session.id);
    return true;
  } catch (error) {
    pages.report('error', 'The end of a session could not be stored.', error);
    return false;
  }
}
