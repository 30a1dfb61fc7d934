import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { noteSecretsIn } from '../secret-search.ts';
import { hiddenIn } from './admin-pages.ts';
import { type PageWorld, unescaped, visit } from './pages.ts';

/** The PKCE secret of a `profilectl` that logs in, unless a test needs another. */
export const VERIFIER = 'v'.repeat(43);

/** The redirect URI of such a `profilectl`; nothing listens there. */
export const REDIRECT_URI = 'http://127.0.0.1:4711/callback';

/** The parameters with which `profilectl login` opens the page; null omits one. */
export function cliQuery(changes: Record<string, string | null> = {}): Record<string, string> {
  const all: Record<string, string | null> = {
    response_type: 'code',
    client_id: CLI_CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    code_challenge: hashOf(VERIFIER).toString('base64url'),
    code_challenge_method: 'S256',
    state: 'a state',
    machine: 'laptop',
    ...changes,
  };
  return Object.fromEntries(Object.entries(all).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** The path of the page with these parameters. */
export function cliPath(changes: Record<string, string | null> = {}): string {
  return `/developers/cli?${new URLSearchParams(cliQuery(changes))}`;
}

/** The URL to which a page redirects the browser immediately, or null. */
export function goOnIn(body: string): URL | null {
  const address = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(body)?.[1];
  // Everything else in it is percent-encoded.
  return address === undefined ? null : new URL(unescaped(address));
}

/** The code on the page of an allowed login: in its redirect URL, or shown for typing. Null on other pages. */
export function codeIn(body: string): string | null {
  return (
    goOnIn(body)?.searchParams.get('code') ?? /<code data-copy="the code">(\w{4}-\w{4})<\/code>/.exec(body)?.[1] ?? null
  );
}

/** Allows a login of `profilectl` through the page's form; returns the code. */
export async function consentTo(
  world: Pick<PageWorld, 'services'>,
  cookie: string,
  changes: Record<string, string | null> = {},
): Promise<string> {
  const page = await visit(world, cliPath(changes), { cookie });
  const { body } = await visit(world, '/developers/cli', {
    form: [...hiddenIn(page), ['decision', 'allow']],
    cookie,
  });
  const code = codeIn(body);
  if (code === null) throw new Error('The page has no code.');
  return code;
}

/** The form with which `profilectl` exchanges a code. */
export function exchangeForm(code: string, changes: Record<string, string> = {}): Record<string, string> {
  return {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    client_id: CLI_CLIENT_ID,
    code_verifier: VERIFIER,
    ...changes,
  };
}

/** Sends a form to /manage/v1/token or /manage/v1/revoke; a string is sent unchanged. */
export async function sendLogin(
  server: { url: string },
  path: 'token' | 'revoke',
  form: Record<string, string> | [string, string][] | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const answer = await fetch(`${server.url}/manage/v1/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  });
  noteSecretsIn(await answer.clone().text());
  return answer;
}
