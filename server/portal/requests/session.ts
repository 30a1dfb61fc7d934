import type { Config } from '../../../shared/config/config.ts';
import { isLoopback } from '../../../shared/net.ts';
import { endSignIn, PERIODS } from '../../../shared/sign-in/sessions.ts';
import { type Html, html } from '../../html.ts';
import { oneValue, queryValue } from './form.ts';
import type { Outcome, PageContext } from './request-context.ts';

/** The cookies: the session, the browser that requested a code, what was typed for that, and the message about the last form. */
type CookieName = 'session' | 'sign-in' | 'typed' | 'flash';

type At = Pick<Config, 'publicUrl'>;

type Asking = Pick<PageContext, 'config' | 'request'>;

/**
 * Why signing in is impossible with this configuration; null if it is possible. Cookies need HTTPS, or a browser on the same
 * machine; and behind an unknown proxy, clients' IP addresses are unknown.
 */
export function signInFault({ config, request }: Asking): string | null {
  const { protocol, hostname } = new URL(config.publicUrl);
  if (protocol !== 'https:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    return 'You can’t sign in here yet: the operator has to set PUBLIC_URL to a URL that begins with https://.';
  }
  if (config.trustedProxies === null && request.headers.has('x-forwarded-for')) {
    return 'You can’t sign in here yet, because requests come through an unknown proxy: the operator has to set TRUSTED_PROXIES to its IP address.';
  }
  return null;
}

/** Why owners can't sign in with an e-mailed code; null if they can. */
export function ownerSignInFault(page: Asking): string | null {
  const fault = signInFault(page);
  if (fault !== null || page.config.mail !== null) return fault;
  return 'You can’t sign in here yet, because this service can’t send e-mail: the operator has to set MAIL_URL.';
}

/**
 * The value of a cookie; null if it is absent or repeated. Only spaces and tabs are trimmed from its name: browsers let other
 * hosts of the same site set `__Host-session` with another kind of white space before it.
 */
export function readCookie({ config, request }: Asking, name: CookieName): string | null {
  const wanted = `${prefixOf(config)}${name}=`;
  const found = (request.headers.get('cookie') ?? '').split(';').flatMap((part) => {
    const pair = part.replace(/^[ \t]+/, '');
    return pair.startsWith(wanted) ? [pair.slice(wanted.length)] : [];
  });
  return found.length === 1 && found[0] !== '' ? (found[0] as string) : null;
}

/** The value of a Set-Cookie header. `value` must be base64url or a word. */
export function setCookie(at: At, name: CookieName, value: string, maxAgeSeconds: number): string {
  const secure = prefixOf(at) === '' ? '' : ' Secure;';
  return `${prefixOf(at)}${name}=${value}; Path=/; Max-Age=${maxAgeSeconds};${secure} HttpOnly; SameSite=Lax`;
}

/** The value of a Set-Cookie header that removes a cookie. */
export function removeCookie(at: At, name: CookieName): string {
  return setCookie(at, name, '', 0);
}

/** Browsers accept a cookie with this prefix only over HTTPS, from this very host and for all of its paths (RFC 6265bis). */
function prefixOf({ publicUrl }: At): '__Host-' | '' {
  return publicUrl.startsWith('https://') ? '__Host-' : '';
}

// The page to return to after signing in: only a path under /developers, so that no link to the sign-in can lead to another
// site.

/**
 * A plain path with percent-encoded parameters: nothing that a browser would interpret as another path, and nothing that could
 * end a header.
 */
const PLAIN_PATH = /^(\/developers(?:\/[A-Za-z0-9_-]+)*)(?:\?(.+))?$/;
const PLAIN_PARAMETER = /^[A-Za-z_-]+=(?:[A-Za-z0-9_.~!'()*+-]|%[0-9A-Fa-f]{2})*$/;

/** Includes the parameters. */
const MAX_PATH_LENGTH = 2_000;

/** Whether a sign-in may redirect to a path with parameters. */
export function isPagePath(path: string): boolean {
  const [, bare, parameters] = (path.length <= MAX_PATH_LENGTH && PLAIN_PATH.exec(path)) || [];
  return bare !== undefined && (parameters ?? 'a=').split('&').every((pair) => PLAIN_PARAMETER.test(pair));
}

/** Adds the page to return to, `next`, to a path. */
export function withNext(path: string, next: string): string {
  return next === '' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** The page to return to, from the query or the form; empty if that is not a page. */
export function nextOf(page: Pick<PageContext, 'request' | 'form'>): string {
  const next = queryValue(page, 'next') || oneValue(page.form, 'next');
  return isPagePath(next) && !/^\/developers\/(admin\/)?sign-(in|out)/.test(next) ? next : '';
}

/** Says why the visitor has to sign in, on a sign-in page that another page redirected to; otherwise empty. */
export function whySignIn(page: Pick<PageContext, 'request' | 'form'>): Html {
  if (nextOf(page) === '') return html``;
  return html`<p class="note">Sign in to see the page you asked for. If you were signed in before, that session has ended.</p>`;
}

/** The outcome of a sign-in: its cookie, and a redirect to `seeOther`. Ends the previous session of this browser. */
export async function finishSignIn(
  context: PageContext,
  { kind, token }: { kind: 'owner' | 'admin'; token: string },
  seeOther: string,
): Promise<Outcome> {
  const { config } = context;
  await endOwnSession(context);
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
export async function endOwnSession({ deps, session, service, write }: PageContext): Promise<boolean> {
  if (session === null) return true;
  try {
    await write(() => endSignIn(deps, session, session.id));
    return true;
  } catch (error) {
    service.log.event('error', 'The end of a session could not be stored.', { cause: error });
    return false;
  }
}
