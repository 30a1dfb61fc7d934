import { findAdmin } from '../../../shared/admins.ts';
import { insertProfile } from '../profiles.ts';
import { signedIn } from './access.ts';
import { enrol } from './admins.ts';
import type { Authenticator } from './authenticator.ts';
import type { Changes } from './forms.ts';
import type { PageAnswer } from './pages.ts';
import { ask, type PageWorld, pageWorld, type Sent, unescaped, visit } from './pages.ts';
import { type Answer, servePages } from './served-pages.ts';

/** A signed-in admin: the Cookie header and the passkey. */
export type SignedInAdmin = { cookie: string; authenticator: Authenticator };

/** Pages at a base URL where passkeys work, with a profile `ada`. */
export async function adminWorld(variables: Record<string, string> = {}): Promise<PageWorld> {
  const world = pageWorld({ PUBLIC_URL: 'http://localhost:3000', ...variables });
  insertProfile(world.access.db, { id: 7, username: 'ada', email: 'ada@example.org' });
  return world;
}

/** Adds an admin and signs in, without using the passkey for it. */
export async function signInAdmin({ access }: Pick<PageWorld, 'access'>, name: string): Promise<SignedInAdmin> {
  const authenticator = await enrol(access, name);
  const token = signedIn(access, { profileId: null, adminId: findAdmin(access.db, name).id });
  return { cookie: `session=${token}`, authenticator };
}

/** What the last form of a page sends. */
export type Fields = Record<string, string> | [string, string][];

/** The hidden fields of a page's last form, as it would send them. */
export function hiddenIn({ body }: PageAnswer): [string, string][] {
  const last = body.slice(body.lastIndexOf('<form', body.lastIndexOf('</main>')));
  return [...last.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']) => [name, unescaped(value)],
  );
}

/** The challenge that a page asks a passkey to sign. */
export function challengeOn(page: Pick<PageAnswer, 'body'>): string {
  return optionsOn(page).challenge;
}

/** The user handle that a page assigns to a new passkey. */
export function userHandleOn(page: Pick<PageAnswer, 'body'>): string {
  return optionsOn(page).user?.handle ?? '';
}

function optionsOn({ body }: Pick<PageAnswer, 'body'>): { challenge: string; user?: { handle: string } } {
  return JSON.parse(unescaped(/data-options="([^"]*)"/.exec(body)?.[1] ?? '{}'));
}

/** What a page's form sends after this passkey has signed the challenge. */
export function withPasskey(page: PageAnswer, authenticator: Authenticator): [string, string][] {
  const others = hiddenIn(page).filter(([name]) => name !== 'credential');
  return [...others, ['credential', authenticator.assert(challengeOn(page))]];
}

/** The version of a key that its page shows, as the page's forms send it. */
export async function shownTo(
  world: Pick<PageWorld, 'services'>,
  { cookie }: SignedInAdmin,
  identifier: string,
): Promise<string> {
  const page = await ask(world, `/developers/admin/keys/${identifier}`, { cookie });
  return /name="shown" value="([^"]+)"/.exec(page.body)?.[1] ?? '';
}

/** Sends a form of decisions on a key, and does not wait for background work. */
export function sendDecision(
  world: Pick<PageWorld, 'services'>,
  { cookie }: SignedInAdmin,
  identifier: string,
  form: Sent['form'],
): Promise<PageAnswer> {
  return ask(world, `/developers/admin/keys/${identifier}/decide`, { cookie, ...(form && { form }) });
}

/** Decides on a key as its page shows it now. */
export async function decideAs(
  world: Pick<PageWorld, 'services'>,
  admin: SignedInAdmin,
  identifier: string,
  fields: [string, string][],
): Promise<PageAnswer> {
  return sendDecision(world, admin, identifier, [...fields, ['shown', await shownTo(world, admin, identifier)]]);
}

/** The fields that approve a key with one permission and one rate limit. */
export const APPROVAL: [string, string][] = [
  ['operation', 'approve'],
  ['permissions', 'api.lookup'],
  ['rateLimits', '60/1m'],
  ['expires', ''],
  ['retireOld', ''],
];

/** The page of a key as an admin sees it. */
export async function keyPageOf(world: PageWorld, { cookie }: SignedInAdmin, identifier: string): Promise<PageAnswer> {
  return visit(world, `/developers/admin/keys/${identifier}`, { cookie });
}

/** A page as a person reads it, without its markup. */
export function textOf({ body }: PageAnswer): string {
  return unescaped(
    body
      .slice(body.indexOf('<main'))
      .replace(/<script[\s\S]*?<\/script>/g, '')
      .replace(/<\/?(bdi|code|span|time|strong|a)\b[^>]*>/g, '')
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' '),
  );
}

/** The fields that the form of an operation on a key's page would send. */
export function formOn({ body }: PageAnswer, operation: string): [string, string][] {
  const begin = body.indexOf(`<form id="${operation}" `);
  const form = begin === -1 ? '' : body.slice(begin, body.indexOf('</form>', begin));
  return [...form.matchAll(/<input [^>]*>/g)].flatMap(([input]): [string, string][] => {
    const attribute = (name: string) => unescaped(new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '');
    const isLeftOut = ['checkbox', 'radio'].includes(attribute('type')) && !/ checked\b/.test(input);
    return isLeftOut ? [] : [[attribute('name'), attribute('value')]];
  });
}

/** The button that approves a request on its page. */
export const APPROVE = 'Approve';

/** A server with the owners Ada and Bea and the signed-in admin Grace. */
export async function adminPages(variables: Record<string, string> = {}) {
  const world = await servePages(variables);
  const signIn = async (name: string) => {
    const { cookie, authenticator } = await signInAdmin(world, name);
    return {
      cookie,
      authenticator,
      see: (path = '') => world.get(`/developers/admin${path}`, cookie),
      press: (page: Answer, button: string, changes?: Changes) => world.press(page, button, changes, cookie),
    };
  };
  return { ...world, signIn, grace: await signIn('Grace') };
}
