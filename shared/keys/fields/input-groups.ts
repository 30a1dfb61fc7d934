import { z } from 'zod';
import { FIELDS } from './inputs.ts';

const { name, description, permissions, projectUrl, expectedUsage } = FIELDS;

/** What an owner says when asking for a key. */
export const KEY_REQUEST = z.object({ name, description, permissions, projectUrl, expectedUsage });

/** What an owner says when asking for a key, checked and trimmed. */
export type KeyRequest = z.output<typeof KEY_REQUEST>;

/** What an admin changes of an Active or suspended key; whatever is absent stays as it is, an expiry of null is none. */
export const KEY_CHANGE = z.object({
  permissions: permissions.nullish(),
  rateLimits: FIELDS.rateLimits.nullish(),
  expiresAtMs: FIELDS.expiresAtMs.nullish(),
});

/** A change that was checked. */
export type KeyChange = z.output<typeof KEY_CHANGE>;

/** What an admin grants; whatever is absent takes its default. */
export const GRANT = z.object({ ...KEY_CHANGE.shape, retireOldAtMs: FIELDS.retireOldAtMs.nullish() });

/** A grant that was checked. Times are milliseconds since 1970. */
export type Grant = z.output<typeof GRANT>;

/** Which keys to list; all where nothing is given. With `limit` a part of them: at most so many, after the place `after`, or after the key with that identifier. */
export const LIST_FILTER = z.object({
  states: FIELDS.states.nullish(),
  profile: FIELDS.profile.nullish(),
  namePart: FIELDS.namePart.nullish(),
  find: FIELDS.find.nullish(),
  unusedForMs: FIELDS.unusedForMs.nullish(),
  limit: FIELDS.limit.nullish(),
  after: FIELDS.after.nullish(),
});

/** Which keys to list; `unusedForMs` leaves only Active ones that were not used for so long. */
export type ListInput = z.output<typeof LIST_FILTER>;
