import type { BackendToken } from '../../shared/backends/backend-tokens.ts';
import type { BackendRight } from '../../shared/db/people-columns.ts';
import { AppError } from '../../shared/errors.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import type { CliLogin } from '../../shared/sign-ins/row.ts';
import type { PortalServices } from '../thread/portal-services.ts';

/** The authenticated caller: a backend, or a person's `profilectl`. */
export type Caller =
  | { readonly kind: 'backend'; readonly token: BackendToken }
  | { readonly kind: 'person'; readonly token: CliLogin };

/** A request under `/manage` before its checks. */
export type ArrivedCall = {
  readonly request: Request;
  readonly requestId: string;
  /** The path of its route, or {@link ANYTHING}. */
  readonly template: string;
  /** The decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** See `lockDeadline`. */
  readonly waitUntilMs: number;
};

/** The same once the token is verified. */
export type AdmittedCall = ArrivedCall & {
  readonly services: PortalServices;
  readonly access: Access;
  readonly caller: Caller;
};

/** The same once it has passed all checks, as passed to its route. */
export type Call = AdmittedCall & {
  /** The body's members; empty if the route accepts no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The query's parameters, all known to the route. */
  readonly query: ReadonlyMap<string, string>;
};

/** The path to which backends send profiles; `server/process/feed/` answers it. */
export const FEED_PATH = '/manage/v1/profiles';

/** The logged route of requests that match no route, or were refused before their route was known. */
export const ANYTHING = '/manage/*';

/** An answer; its status is 200 by default, and its headers are added to the common ones. */
export type JsonAnswer = { status?: number; headers?: Readonly<Record<string, string>>; body: object };

/** Who may use a route: any valid token, people, or backends with this right. The route checks what each person may do. */
export type Admitted = 'any' | 'person' | { readonly backend: BackendRight };

/** A route of `/manage/v1`. */
export type ManageRoute = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path's template, also in log and metrics: `/manage/v1/keys/:identifier`. */
  path: string;
  who: Admitted;
  /** Throws, before anything else is read, if the caller can never do this or may not see its key. */
  refuse?: (call: AdmittedCall) => void;
  /** The members that the body may have; null if the route accepts no JSON. */
  members: readonly string[] | null;
  /** The query's parameters; none may be repeated. */
  query?: readonly string[];
  act: (call: Call) => JsonAnswer | Promise<JsonAnswer>;
};

/** The refusal if a backend's token lacks a right. */
export function lackOfRight(right: BackendRight): AppError {
  return new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}

/** The refusals of the other kind of token, also used for the OpenAPI document. */
export const WRONG_TOKEN = {
  person: new AppError('forbidden', 'A personal token can’t do this; use a backend’s token.'),
  backend: new AppError('forbidden', 'A backend’s token can’t do this; use a personal token.'),
} as const;

/** The token of a calling backend. Throws `forbidden` if a person calls. */
export function backendTokenOf({ caller }: Pick<Call, 'caller'>): BackendToken {
  if (caller.kind === 'backend') return caller.token;
  throw WRONG_TOKEN.person;
}

/** The token of a calling person. Throws `forbidden` if a backend calls. */
export function personTokenOf({ caller }: Pick<Call, 'caller'>): CliLogin {
  if (caller.kind === 'person') return caller.token;
  throw WRONG_TOKEN.backend;
}
