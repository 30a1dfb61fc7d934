import { PAGE_BOUNDS } from '../profiles/board.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../profiles/name.ts';

// The parameters of the API as JSON Schemas, used by the routes and by the OpenAPI document.

/** The schema of a whole number. */
export type WholeNumber = { type: 'integer'; minimum: number; maximum: number; default: number };

/** The maximum number of entries on a page of the leaderboard. */
export const LIMIT: WholeNumber = {
  type: 'integer',
  minimum: PAGE_BOUNDS.minLimit,
  maximum: PAGE_BOUNDS.maxLimit,
  default: PAGE_BOUNDS.defaultLimit,
};

/** The number of entries of the leaderboard before the page. */
export const OFFSET: WholeNumber = { type: 'integer', minimum: 0, maximum: PAGE_BOUNDS.maxOffset, default: 0 };

/** A username or an alias. */
export const USERNAME = { type: 'string', minLength: 1, maxLength: NAME_MAX_CODE_POINTS };

/** A UID. */
export const UID = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** An auth ID; its maximum length is in bytes. */
export const AUTH_ID = { type: 'string', minLength: 1, maxLength: AUTH_ID_MAX_BYTES };

/** The maximum number of names in a batch lookup, of all kinds together. */
export const MANY_MAX = 100;

/** The parameters of a batch lookup; each may be repeated. */
export const MANY_PARAMETERS = ['username', 'uid', 'authid'] as const;
