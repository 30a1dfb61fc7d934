import type { z } from 'zod';
import { whenUnlocked } from '../../shared/db/when-unlocked.ts';
import { AppError } from '../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../shared/sign-in/cli-client.ts';
import { readPairs } from '../http/parameters.ts';
import { countFailure } from '../http/throttle.ts';
import { blockOf } from '../http/transport.ts';
import { ARRIVED_HEADERS, FORM, readText } from '../thread/forwarded.ts';
import type { PortalServices } from '../thread/portal-services.ts';
import type { JsonAnswer } from './request-context.ts';

// The two paths that create and revoke personal tokens. They need a form instead of a token, and their refusals follow
// RFC 6749, section 5.2.

/** A request to such a path that has passed its checks. */
export type LoginCall<Form extends z.ZodObject> = {
  readonly services: PortalServices;
  readonly client: { address: string };
  readonly form: z.output<Form>;
};

/** The route of such a path. */
export type LoginRoute = {
  method: 'POST';
  path: string;
  answer: (services: PortalServices, request: Request) => Promise<JsonAnswer>;
};

/**
 * Creates a route. Its requests are checked in this order: the throttle of the IP address, the form, the client, the
 * parameters. It throws `too_many_failures`, `invalid_client`, `unsupported_grant_type`, `invalid_request`, and as `act`.
 */
export function loginRoute<Form extends z.ZodObject>(
  path: string,
  form: Form,
  act: (call: LoginCall<Form>) => JsonAnswer,
): LoginRoute {
  return { method: 'POST', path, answer: async (services, request) => act(await openLogin(services, request, form)) };
}

async function openLogin<Form extends z.ZodObject>(
  services: PortalServices,
  request: Request,
  schema: Form,
): Promise<LoginCall<Form>> {
  const { headers } = request;
  const address = headers.get(ARRIVED_HEADERS.address) ?? '';
  countFailure(services.tokenThrottle, blockOf(address), 'requests to create or revoke a token');
  const parameters = readParameters(await readFormText(request));
  const read = schema.safeParse(parameters);
  const isByHeader = /^basic /i.test(headers.get('authorization') ?? '');
  if (isByHeader || read.error?.issues.some(({ path }) => path[0] === 'client_id')) {
    throw new AppError(
      'invalid_client',
      `The only client is ${CLI_CLIENT_ID}; send it as client_id, without a secret.`,
    );
  }
  if (!read.success) throw read.error.issues.map((issue) => refusalOf(issue, parameters))[0];
  await whenUnlocked(services.access.sessions.sqlite);
  return { services, client: { address }, form: read.data };
}

function refusalOf({ path, message }: z.core.$ZodIssue, parameters: Readonly<Record<string, string>>): AppError {
  const name = String(path[0]);
  if (!Object.hasOwn(parameters, name)) return new AppError('invalid_request', `The parameter ${name} is missing.`);
  return new AppError(name === 'grant_type' ? 'unsupported_grant_type' : 'invalid_request', message);
}

/** An empty parameter counts as absent, and none may be repeated (RFC 6749, section 3.2). */
function readParameters(body: string): Record<string, string> {
  const found = new Map<string, string>();
  for (const { name, value } of readPairs(body, (sent) => sent)) {
    if (name === undefined || value === undefined) {
      throw new AppError('invalid_request', 'The parameters must be percent-encoded UTF-8.');
    }
    if (value === '') continue;
    if (found.has(name)) throw new AppError('invalid_request', 'Each parameter may be sent only once.');
    found.set(name, value);
  }
  return Object.fromEntries(found);
}

async function readFormText(request: Request): Promise<string> {
  try {
    return await readText(request, FORM);
  } catch {
    throw new AppError('invalid_request', 'The body must be a form of at most 64 KiB, in UTF-8.');
  }
}
