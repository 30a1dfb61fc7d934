import type { BackendToken } from '../../shared/backends/backend-tokens.ts';
import type { BackendRight } from '../../shared/db/people-columns.ts';
import { AppError } from '../../shared/errors.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import type { CliLogin } from '../../shared/sign-ins/row.ts';
import type { Pages } from '../thread/pages.ts';

/** Who asks, by the token that the request has: a platform's backend, or a person's `profilectl`. */
export type Caller =
  | { readonly kind: 'platform'; readonly token: BackendToken }
  | { readonly kind: 'person'; readonly token: CliLogin };

/** One request under `/manage/v1` that was let in, and what is known of it when its route is asked. */
export type Call = {
  readonly access: Access;
  /** What does work in the background. */
  readonly pages: Pages;
  readonly caller: Caller;
  /** The parts of the path that stand for the `:name`s of the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The body's members; without any where the route takes no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The query's parameters that the route names. */
  readonly query: ReadonlyMap<string, string>;
};

/** An answer: its status is 200 unless it says another, its headers come beside those that every answer has. */
export type Answered = { status?: number; headers?: Readonly<Record<string, string>>; body: object };

/**
 * Who may use a route: whoever has a token of any kind, people, or platforms with this right. Which people may do what, the
 * route finds out.
 */
export type Admitted = 'any' | 'person' | { readonly platform: BackendRight };

/** An entry of the table of `/manage/v1`. */
export type ManageRoute = {
  method: 'GET' | 'POST' | 'PATCH';
  /** The path with its parameters, as log and metrics name it: `/manage/v1/keys/:identifier`. */
  path: string;
  who: Admitted;
  /** The members that the body may have; null where no JSON is taken. */
  members: readonly string[] | null;
  /** The query's parameters; each may be given once. */
  query?: readonly string[];
  act: (call: Call) => Answered | Promise<Answered>;
};

/** The refusal of a platform's token that lacks a right. */
export function lackOfRight(right: BackendRight): AppError {
  return new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}

/** The token of a platform that asks. Throws `forbidden` where a person does. */
export function platformTokenOf({ caller }: Pick<Call, 'caller'>): BackendToken {
  if (caller.kind === 'platform') return caller.token;
  throw new AppError('forbidden', 'A person’s token does not do this; it takes one of a platform.');
}

/** The token of a person who asks. Throws `forbidden` where a platform does. */
export function personTokenOf({ caller }: Pick<Call, 'caller'>): CliLogin {
  if (caller.kind === 'person') return caller.token;
  throw new AppError('forbidden', 'A platform’s token does not do this; it takes one of a person.');
}
