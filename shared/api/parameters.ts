import { PAGE_BOUNDS } from '../profiles/leaderboard/board-bounds.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../profiles/name.ts';

// The parameters of the API as JSON Schemas: the routes read the bounds of numbers here, and the OpenAPI document holds
// them as they stand.

/** A whole number within bounds, with a default. */
export type WholeNumber = { type: 'integer'; minimum: number; maximum: number; default: number };

/** How many entries a page of the leaderboard has at most. */
export const LIMIT: WholeNumber = {
  type: 'integer',
  minimum: PAGE_BOUNDS.minLimit,
  maximum: PAGE_BOUNDS.maxLimit,
  default: PAGE_BOUNDS.defaultLimit,
};

/** How many entries of the leaderboard come before the page. */
export const OFFSET: WholeNumber = { type: 'integer', minimum: 0, maximum: PAGE_BOUNDS.maxOffset, default: 0 };

/** A username or an alias. */
export const USERNAME = { type: 'string', minLength: 1, maxLength: NAME_MAX_CODE_POINTS };

/** A UID. */
export const UID = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER };

/** An auth ID; the bound is one of bytes. */
export const AUTH_ID = { type: 'string', minLength: 1, maxLength: AUTH_ID_MAX_BYTES };

/** How many names one lookup of many takes, of all kinds together. */
export const MANY_MAX = 100;

/** The parameters of a lookup of many; each may be repeated. */
export const MANY_PARAMETERS = ['username', 'uid', 'authid'] as const;
