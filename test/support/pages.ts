import type { ServerOptions } from '../../server/main.ts';
import type { Deps } from '../../shared/deps.ts';
import { type Changes, filledIn, unescaped } from './forms.ts';
import { serverOn } from './http.ts';
import { countingCodes, enrol, signedIn, signIn as signInAdmin } from './people.ts';
import { insertProfile } from './profiles.ts';
import { namesOfIdentifiers } from './recorded.ts';
import { noteCookies } from './secret-search.ts';
import { testClock, testDeps } from './world.ts';

// Pages of a real server, over HTTP.

/** What a form sends. */
export type Form = Record<string, string> | [name: string, value: string][];

/** The headers of a form sent by a page of this site. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' };

/** Two owners; usually the first is signed in. */
export const ADA = { id: 7, username: 'ada', email: 'ada@example.org' };
export const BEA = { id: 8, username: 'bea', email: 'bea@example.org' };

/** A response with its whole body. */
export type Answer = Awaited<ReturnType<typeof fetchPage>>;

/**
 * Sends a request to a page of a server; a POST has the headers of that server's own forms. `hide` of the server replaces the
 * identifiers in its database, for recording.
 */
export async function fetchPage(
  { url, hide = (text) => text }: { url: string; hide?: (text: string) => string },
  path: string,
  init: RequestInit = {},
) {
  const headers = new Headers(init.method === 'POST' ? SAME_ORIGIN : {});
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const answer = await fetch(url + path, { redirect: 'manual', ...init, headers });
  const cookies = answer.headers.getSetCookie();
  noteCookies(cookies);
  return {
    status: answer.status,
    /** The code of the refusal, or null. */
    refusal: answer.headers.get('x-error-code'),
    location: answer.headers.get('location'),
    cookies,
    /** The Cookie header of a browser that keeps these. */
    cookie: cookies.flatMap((one) => (one.includes('Max-Age=0;') ? [] : one.split(';', 1))).join('; '),
    headers: answer.headers,
    body: await answer.text(),
    hide,
  };
}

/** Signs in the owner of a profile, and returns the Cookie header. */
export function signInOwner(access: Deps, profileId: number): string {
  const token = signedIn(access, profileId, { address: '192.0.2.7', agent: 'A test' });
  return `${access.config.publicUrl.startsWith('https:') ? '__Host-' : ''}session=${token}`;
}

/**
 * Starts a server on a new database, or on that at DATABASE_PATH, with the owners Ada and Bea. Its clock stands still. `cookie` is
 * Ada's session, `lastCode` the latest sign-in code.
 */
export async function servePages(variables: Record<string, string> = {}, options: ServerOptions = {}) {
  const clock = testClock();
  const { random, lastCode } = countingCodes();
  const access = testDeps({ clock, random, variables: { PUBLIC_URL: 'http://localhost:3000', ...variables } });
  for (const owner of [ADA, BEA]) insertProfile(access.db, owner);
  const started = await serverOn({ ...access, clock }, options);
  const server = { ...started, hide: namesOfIdentifiers(access.db).hide };
  const get = (path: string, cookie = '', headers: Record<string, string> = {}) =>
    fetchPage(server, path, { headers: { ...(cookie && { cookie }), ...headers } });
  /** Sends a form as a page of this site does. */
  const post = (path: string, form: Form, cookie = '', headers: Record<string, string> = {}) => {
    const body = new URLSearchParams(form).toString();
    return fetchPage(server, path, { method: 'POST', body, headers: { ...(cookie && { cookie }), ...headers } });
  };
  /** Sends the form of a page that has this button, with these changes of its fields. */
  const press = (page: Answer, button: string, changes?: Changes, cookie?: string) => {
    const { action, form } = filledIn(page.body, button, changes);
    return post(action, form, cookie);
  };
  return {
    access,
    clock,
    server,
    get,
    post,
    press,
    lastCode,
    cookie: signInOwner(access, ADA.id),
    /** Adds an admin, who signs in with a passkey. */
    signIn: async (name: string) => {
      const authenticator = await enrol(access, name);
      const cookie = `session=${(await signInAdmin(access, authenticator)).token}`;
      return {
        cookie,
        authenticator,
        see: (path = '') => get(`/developers/admin${path}`, cookie),
        press: (page: Answer, button: string, changes?: Changes) => press(page, button, changes, cookie),
      };
    },
  };
}

/** What {@link servePages} returns. */
export type ServedPages = Awaited<ReturnType<typeof servePages>>;

/** The same with the signed-in admin Grace. */
export async function adminPages(variables: Record<string, string> = {}) {
  const world = await servePages(variables);
  return { ...world, grace: await world.signIn('Grace') };
}

/** What a page asks a passkey to sign: a challenge and, for a new passkey, its user and this site. */
export function passkeyOptionsOn({ body }: Pick<Answer, 'body'>) {
  return JSON.parse(unescaped(/data-options="([^"]*)"/.exec(body)?.[1] ?? '{}'));
}
