import type { BackendRight } from '../../shared/db/people-columns.ts';
import { AppError } from '../../shared/errors.ts';
import type { BackendToken } from '../../shared/tokens.ts';
import type { PortalParts } from '../portal/guards.ts';
import type { PortalServices } from '../portal/services.ts';

/** A request with a valid token. */
export type Call = { request: Request; token: BackendToken; services: PortalServices };

/** What the routes are made from. */
export type ManageParts = PortalParts & {
  /** Counts a refused token of an address as a failed login. Throws `too_many_failures`. */
  countRefusedToken: (address: string) => void;
  /** Lets a connection be idle for this many seconds while its request is answered. */
  keepOpen: (request: Request, seconds: number) => void;
};

/** Throws `insufficient_scope` if the token lacks a right. */
export function requireRight({ token }: Call, right: BackendRight): void {
  if (token.rights.includes(right)) return;
  throw new AppError('insufficient_scope', `This token lacks the right ${right}.`, { scope: right });
}
