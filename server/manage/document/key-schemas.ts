import { ATTEMPT_RESULTS, KEY_EVENTS, KEY_STATES, PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { MAX_PROJECT_URL, TEXT_RULES, type TextRule } from '../../../shared/keys/fields.ts';
import { USAGE_OUTCOMES } from '../../../shared/keys/tally.ts';
import { RATE_LIMIT_BOUNDS } from '../../../shared/limits/rate-limit.ts';
import type { Schema } from '../../api-doc/document/types.ts';
import { objectOf } from './operations.ts';

// The schemas of keys under /manage/v1. An object of a key is that of `profilectl … --json`.

/** A text. */
export const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const TIME: Schema = { type: 'string', format: 'date-time' };
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });
const textOf = ({ least, most }: TextRule): Schema => ({ type: 'string', minLength: least, maxLength: most });
const optional = (properties: Record<string, Schema>): Schema => objectOf(properties, Object.keys(properties));
const described = (schema: Schema, description: string): Schema => ({ ...schema, description });

const IDENTIFIER: Schema = { type: 'string', pattern: '^[0-9A-Za-z]{8}$' };
const GRANTED: Schema = { type: 'array', items: { type: 'string', enum: [...PERMISSIONS] } };
const ASKED: Schema = { ...GRANTED, minItems: 1 };

const { maxPerKey, maxQuota, maxWindowSeconds } = RATE_LIMIT_BOUNDS;
const LIMITS: Schema = {
  type: 'array',
  items: objectOf({
    quota: { type: 'integer', minimum: 1, maximum: maxQuota },
    windowSeconds: { type: 'integer', minimum: 1, maximum: maxWindowSeconds },
  }),
  maxItems: maxPerKey,
};

const KEY_MEMBERS = {
  identifier: IDENTIFIER,
  profile: described(orNull(text), 'The username of its profile, as it is now; null once that is erased.'),
  name: text,
  description: text,
  projectUrl: orNull(text),
  expectedUsage: orNull(text),
  state: { type: 'string', enum: [...KEY_STATES] },
  requestedPermissions: GRANTED,
  permissions: described(GRANTED, 'What is granted; empty until it is approved, like rateLimits.'),
  rateLimits: LIMITS,
  requestedAt: TIME,
  decidedAt: orNull(TIME),
  expiresAt: orNull(TIME),
  successorOf: described(orNull(IDENTIFIER), 'The key that this one was requested to replace.'),
  addressChangedAt: described(
    orNull(TIME),
    'When the address of its profile was last changed since this was requested, while it is pending.',
  ),
  attempt: described(
    orNull(
      objectOf({ number: count, by: text, startedAt: TIME, result: { type: 'string', enum: [...ATTEMPT_RESULTS] } }),
    ),
    'The latest try to approve it. While the result is `open`, the mail with the secret is on its way.',
  ),
} satisfies Record<string, Schema>;

/** A key. */
export const KEY: Schema = { $ref: '#/components/schemas/Key' };

const HISTORY: Schema = {
  type: 'array',
  items: objectOf({
    at: TIME,
    by: text,
    event: { type: 'string', enum: [...KEY_EVENTS] },
    from: orNull({ type: 'string', enum: [...KEY_STATES] }),
    to: { type: 'string', enum: [...KEY_STATES] },
    detail: { type: ['object', 'null'], additionalProperties: true },
  }),
};

/** The schemas to which the operations refer, by name. */
export const KEY_SCHEMAS: Record<string, Schema> = {
  Key: objectOf(KEY_MEMBERS),
  KeyWithHistory: objectOf({ ...KEY_MEMBERS, history: HISTORY }),
};

/** What a key was used for. */
export const USAGE: Schema = objectOf({
  identifier: IDENTIFIER,
  days: {
    type: 'array',
    items: objectOf({
      day: { type: 'string', format: 'date' },
      ...Object.fromEntries(USAGE_OUTCOMES.map((outcome) => [outcome, count])),
    }),
  },
  lastUsedAt: orNull(TIME),
});

/** A page of keys. */
export const KEY_LIST: Schema = objectOf({
  keys: { type: 'array', items: KEY },
  lastUses: {
    type: 'object',
    additionalProperties: TIME,
    description: 'When each of these keys was last used, by identifier; a key that was never used is not named.',
  },
});

/** The body that asks for a key. */
export const REQUEST_BODY: Schema = objectOf(
  {
    profile: described(text, 'The username or an alias; an owner may leave it out.'),
    name: textOf(TEXT_RULES.name),
    description: textOf(TEXT_RULES.description),
    permissions: ASKED,
    projectUrl: orNull({ type: 'string', maxLength: MAX_PROJECT_URL }),
    expectedUsage: orNull(textOf(TEXT_RULES.expectedUsage)),
    successorOf: described(orNull(IDENTIFIER), 'The Active key of the same profile that it is to replace.'),
  },
  ['profile', 'projectUrl', 'expectedUsage', 'successorOf'],
);

/** The body that renames one. */
export const NAME_BODY: Schema = objectOf({ name: textOf(TEXT_RULES.name) });

/** The body of a rejection. */
export const REASON_BODY: Schema = objectOf({ reason: textOf(TEXT_RULES.reason) });

/** The body of a revocation; admins give a reason. */
export const REVOCATION_BODY: Schema = optional({ reason: orNull(textOf(TEXT_RULES.reason)) });

const GRANT = {
  permissions: ASKED,
  rateLimits: { ...LIMITS, minItems: 1 },
  expiresAt: described(orNull(TIME), 'Null for a key that does not expire.'),
} satisfies Record<string, Schema>;

/** The body of a change. */
export const CHANGE_BODY: Schema = optional(GRANT);

/** The body of an approval. */
export const GRANT_BODY: Schema = optional({
  ...GRANT,
  retireOldAt: described(orNull(TIME), 'When the key ends that this one is to replace.'),
});
