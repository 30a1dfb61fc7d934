import type { Config } from '../../../shared/config/config.ts';
import { isLoopback } from '../../../shared/net.ts';

/** The cookies: the session, the browser that requested a code, what was typed for that, and the message about the last form. */
export type CookieName = 'session' | 'sign-in' | 'typed' | 'flash';

type At = Pick<Config, 'publicUrl'>;

/**
 * Why signing in is impossible with this configuration; null if it is possible. Cookies need HTTPS, or a browser on the same
 * machine; and behind an unknown proxy, clients' IP addresses are unknown.
 */
export function signInFault({ publicUrl }: At, isBehindUnknownProxy: boolean): string | null {
  const { protocol, hostname } = new URL(publicUrl);
  if (protocol !== 'https:' && !isLoopback(hostname.replace(/^\[|\]$/g, ''))) {
    return 'You can’t sign in here yet: the operator has to set PUBLIC_URL to a URL that begins with https://.';
  }
  if (isBehindUnknownProxy) {
    return 'You can’t sign in here yet, because requests come through an unknown proxy: the operator has to set TRUSTED_PROXIES to its IP address.';
  }
  return null;
}

/** Why owners can't sign in with an e-mailed code; null if they can. */
export function ownerSignInFault(
  config: Pick<Config, 'publicUrl' | 'mail'>,
  isBehindUnknownProxy: boolean,
): string | null {
  const fault = signInFault(config, isBehindUnknownProxy);
  if (fault !== null || config.mail !== null) return fault;
  return 'You can’t sign in here yet, because this service can’t send e-mail: the operator has to set MAIL_URL.';
}

/**
 * The value of a cookie in a Cookie header; null if it is absent or repeated. Only spaces and tabs are trimmed from its name:
 * browsers let other hosts of the same site set `__Host-session` with another kind of white space before it.
 */
export function readCookie(at: At, header: string | undefined, name: CookieName): string | null {
  const wanted = `${prefixOf(at)}${name}=`;
  const found = (header ?? '').split(';').flatMap((part) => {
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
