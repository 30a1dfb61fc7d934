import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../shared/sign-in/cli-client.ts';
import { countFailure } from '../http/throttle.ts';
import { blockOf } from '../http/transport.ts';
import { readPairs } from '../thread/form-pairs.ts';
import { ARRIVED_HEADERS, FORM, readText } from '../thread/forwarded.ts';
import type { Pages } from '../thread/pages.ts';
import type { JsonAnswer } from './request-context.ts';

// The two paths that need a form instead of a token, and make and revoke personal tokens. Their refusals follow RFC 6749,
// section 5.2.

/** A request to such a path that has passed its checks. */
export type LoginCall = {
  readonly pages: Pages;
  readonly client: { address: string };
  /** The parameters that have a value; unknown ones are ignored. */
  readonly parameters: ReadonlyMap<string, string>;
};

/** An entry of the table of these paths. */
export type LoginRoute = { method: 'POST'; path: string; act: (call: LoginCall) => JsonAnswer };

/**
 * Checks a request to such a path: how many its address has sent, the form, the client. Throws `too_many_failures`,
 * `invalid_request` and `invalid_client`.
 */
export async function openLogin(pages: Pages, request: Request): Promise<LoginCall> {
  const { headers } = request;
  const address = headers.get(ARRIVED_HEADERS.address) ?? '';
  countFailure(pages.loginTries, blockOf(address), 'requests to begin or end a login');
  const parameters = readParameters(await readFormText(request));
  const isByHeader = /^basic /i.test(headers.get('authorization') ?? '');
  if (isByHeader || parameters.get('client_id') !== CLI_CLIENT_ID) {
    throw new AppError(
      'invalid_client',
      `The only client is ${CLI_CLIENT_ID}; send it as client_id, without a secret.`,
    );
  }
  await whenUnlocked(pages.access.sessions.sqlite);
  return { pages, client: { address }, parameters };
}

/** The value of a parameter. Throws `invalid_request` if it is missing. */
export function parameter(parameters: LoginCall['parameters'], name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new AppError('invalid_request', `The parameter ${name} is missing.`);
  return value;
}

/** Reads parameters. An empty one counts as not sent, and none may be repeated (RFC 6749, section 3.2). */
function readParameters(body: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const { name, value } of pairsOf(body)) {
    if (value === '') continue;
    if (found.has(name)) throw new AppError('invalid_request', 'Each parameter may be sent only once.');
    found.set(name, value);
  }
  return found;
}

async function readFormText(request: Request): Promise<string> {
  try {
    return await readText(request, FORM);
  } catch {
    throw new AppError('invalid_request', 'The body must be a form of at most 64 KiB, in UTF-8.');
  }
}

function pairsOf(body: string): { name: string; value: string }[] {
  try {
    return readPairs(body);
  } catch {
    throw new AppError('invalid_request', 'The parameters must be percent-encoded UTF-8.');
  }
}
