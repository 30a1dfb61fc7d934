import type { Db } from '../db/connect.ts';
import type { Access, Client } from '../sessions-file/access.ts';
import type { Owner } from '../sessions-file/whose.ts';
import type { SignIn } from '../sign-ins/row.ts';
import { beginSignIn } from '../sign-ins/sign-ins.ts';
import { browserName } from './browser-name.ts';
import { isKnownBrowser, rememberBrowser } from './known-browsers.ts';
import { storePendingSignInNotice } from './sign-in-notices.ts';

/** The result of an owner's sign-in with a browser, with the tokens of two cookies. */
export type SignedOwner = {
  token: string;
  session: SignIn;
  knownBrowser: string;
  /** Whether this is the owner's first sign-in with this browser in 90 days; they are then notified by mail. */
  isNewBrowser: boolean;
};

/**
 * Signs an owner in with a browser, inside the transaction that uses up a code or a hand-over URL. For a new browser,
 * the pending notification is stored with the session. `knownBrowser` is the token of its cookie, null without one.
 */
export function signOwnerIn(
  access: Access,
  sessionsDb: Db,
  owner: Owner,
  { knownBrowser, client }: { knownBrowser: string | null; client: Client },
  nowMs: number,
): SignedOwner {
  const isNewBrowser = !isKnownBrowser(sessionsDb, knownBrowser, owner, nowMs);
  const agent = browserName(client.agent);
  if (isNewBrowser) storePendingSignInNotice(sessionsDb, owner, { ...client, agent }, nowMs);
  const known = rememberBrowser(sessionsDb, access.random, knownBrowser, owner, nowMs);
  const { token, signIn: session } = beginSignIn(access, owner, client);
  return { token, session, knownBrowser: known, isNewBrowser };
}
