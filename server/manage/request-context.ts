import type { BackendToken } from '../../shared/backends/backend-tokens.ts';
import type { BackendRight } from '../../shared/db/people-columns.ts';
import { AppError } from '../../shared/errors.ts';
import type { Access } from '../../shared/sessions-file/access.ts';
import type { PortalServices } from '../thread/portal-services.ts';

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
  /** The token of the backend that calls. */
  readonly token: BackendToken;
};

/** The same once it has passed all checks, as passed to its route. */
export type Call = AdmittedCall & {
  /** The body's members; empty if the route accepts no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
};

/** The path to which backends send profiles; `server/process/feed/` answers it. */
export const FEED_PATH = '/manage/v1/profiles';

/** The logged route of requests that match no route, or were refused before their route was known. */
export const ANYTHING = '/manage/*';

/** An answer; its status is 200 by default, and its headers are added to the common ones. */
export type JsonAnswer = { status?: number; headers?: Readonly<Record<string, string>>; body: object };

/** A route of `/manage/v1`. */
export type ManageRoute = {
  method: 'GET' | 'POST';
  /** The path's template, also in log and metrics. */
  path: string;
  /** The right that the token needs; null if any token may. */
  right: BackendRight | null;
  /** The members that the body may have; null if the route accepts no JSON. */
  members: readonly string[] | null;
  act: (call: Call) => JsonAnswer | Promise<JsonAnswer>;
};

/** The refusal if a backend's token lacks a right. */
export function lackOfRight(right: BackendRight): AppError {
  return new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}
