import { z } from 'zod';
import { FIELDS } from './inputs.ts';

const { name, description, permissions, projectUrl, expectedUsage } = FIELDS;

/** The fields of a request for a key. */
export const KEY_REQUEST = z.object({ name, description, permissions, projectUrl, expectedUsage });

/** A request for a key, validated and trimmed. */
export type KeyRequest = z.output<typeof KEY_REQUEST>;

/** A change of a key that has a secret. Absent fields stay as they are; an expiry of null means never. */
export const KEY_CHANGE = z.object({
  permissions: permissions.nullish(),
  rateLimits: FIELDS.rateLimits.nullish(),
  expiresAtMs: FIELDS.expiresAtMs.nullish(),
});

/** A validated change. */
export type KeyChange = z.output<typeof KEY_CHANGE>;

/** The grant of an approval. Absent fields get their defaults. */
export const GRANT = z.object({ ...KEY_CHANGE.shape, retireOldAtMs: FIELDS.retireOldAtMs.nullish() });

/** A validated grant. Times are milliseconds since 1970. */
export type Grant = z.output<typeof GRANT>;

/** Which keys to list. With `limit`, one page; `after` is a cursor or the identifier of a key. */
export const LIST_FILTER = z.object({
  states: FIELDS.states.nullish(),
  profile: FIELDS.profile.nullish(),
  find: FIELDS.find.nullish(),
  limit: FIELDS.limit.nullish(),
  after: FIELDS.after.nullish(),
});

/** A validated filter. */
export type ListInput = z.output<typeof LIST_FILTER>;
