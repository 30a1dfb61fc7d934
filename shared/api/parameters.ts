import { z } from 'zod';
import { PAGE_BOUNDS } from '../profiles/leaderboard.ts';
import { AUTH_ID_MAX_BYTES, NAME_MAX_CODE_POINTS } from '../profiles/name.ts';

// The parameters of the API: the routes read the numbers with these, and the OpenAPI document is made of them.

/** A whole number within bounds, with a default. */
export type WholeNumber = z.ZodDefault<z.ZodInt>;

/** How many entries a page of the leaderboard has at most. */
export const LIMIT: WholeNumber = z
  .int()
  .min(PAGE_BOUNDS.minLimit)
  .max(PAGE_BOUNDS.maxLimit)
  .default(PAGE_BOUNDS.defaultLimit);

/** How many entries of the leaderboard come before the page. */
export const OFFSET: WholeNumber = z.int().min(0).max(PAGE_BOUNDS.maxOffset).default(0);

/** A username or an alias. */
export const USERNAME = z.string().min(1).max(NAME_MAX_CODE_POINTS);

/** A UID. */
export const UID = z.int().min(1).max(Number.MAX_SAFE_INTEGER);

/** An auth ID; the bound is one of bytes. */
export const AUTH_ID = z.string().min(1).max(AUTH_ID_MAX_BYTES);

/** How many names one lookup of many takes, of all kinds together. */
export const MANY_MAX = 100;

/** The parameters of a lookup of many; each may be repeated. */
export const MANY_PARAMETERS = ['username', 'uid', 'authid'] as const;
