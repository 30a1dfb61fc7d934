import type { Person } from '../actor.ts';
import { AppError } from '../errors.ts';

/**
 * The keys on which a kind of person may perform an operation. `own`: those of the person's own profile; `own, unless
 * banned`: none while it is banned.
 */
export type Reach = 'all' | 'own' | 'own, unless banned' | 'none';

/** The keys on which each kind of person may perform an operation. */
export type Who = Record<Person['kind'], Reach>;

/** Whether admins decide it: it changes a key. */
export function isDecision({ who, event }: { who: Who; event: string | null }): boolean {
  return who.admin === 'all' && event !== null;
}

/** Throws `forbidden` if this kind of person can never perform it. */
export function refuseKind({ who }: { who: Who }, kind: Person['kind']): void {
  if (who[kind] === 'none')
    throw new AppError('forbidden', `Only ${who.owner === 'none' ? 'admins' : 'owners'} can do this.`);
}

/** Actions of owners on their own keys. The operator can perform them for owners who can't sign in. */
export const OWNERS_DO: Who = { operator: 'all', admin: 'none', owner: 'own', backend: 'none' };

/** Looking at keys, which changes nothing. */
export const ALL_LOOK: Who = { operator: 'all', admin: 'all', owner: 'own', backend: 'none' };

/** Decisions on keys, which owners can't make on their own. */
export const ADMINS_DECIDE: Who = { operator: 'all', admin: 'all', owner: 'none', backend: 'none' };
