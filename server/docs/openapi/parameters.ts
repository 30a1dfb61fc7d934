import { z } from 'zod';
import { AUTH_ID, LIMIT, MANY_MAX, OFFSET, UID, USERNAME, type WholeNumber } from '../../../shared/api/parameters.ts';

/** The parameters of an operation in zod-openapi's format. */
export type Parameters = { path?: z.ZodObject; query?: z.ZodObject; header?: z.ZodObject };

const described = (schema: z.ZodType, description: string, example?: unknown) =>
  schema.meta({ param: { description, ...(example !== undefined && { example }) } });

const text = ({ minLength, maxLength }: { minLength: number; maxLength: number }) =>
  z.string().min(minLength).max(maxLength);
const uid = () => z.int().min(UID.minimum).max(UID.maximum);
const whole = (bounds: WholeNumber) => z.int().min(bounds.minimum).max(bounds.maximum).default(bounds.default);

/** The parameter of `/api/lookup/username/{username}`. */
export const USERNAME_IN_PATH = z.object({
  username: described(
    text(USERNAME),
    'The username or an alias, percent-encoded. Names are compared after Unicode NFKC normalisation and lowercasing. A name that cannot exist gets a 404.',
    'Ada',
  ),
});

/** The parameter of `/api/lookup/uid/{uid}`. */
export const UID_IN_PATH = z.object({
  uid: described(uid(), 'The id of the profile: a decimal number without leading zeros. Anything else gets a 400.', 7),
});

/** The parameter of `/api/lookup/authid/{authId}`. */
export const AUTH_ID_IN_PATH = z.object({
  authId: described(
    text(AUTH_ID),
    'The auth ID: 1 to 255 bytes, percent-encoded (`/` as `%2F`), matched exactly. An auth ID that cannot exist gets a 404.',
    'auth0|ada',
  ),
});

const repeated = (what: string, schema: z.ZodType, example: unknown) =>
  z
    .array(schema)
    .max(MANY_MAX)
    .optional()
    .meta({
      param: {
        description: `${what} May be repeated: 1 to ${MANY_MAX} usernames, UIDs and auth IDs in all, for a response of at most 1 MiB.`,
        style: 'form',
        explode: true,
        example,
      },
    });

/** The query of a lookup of many profiles. Names and auth IDs that cannot exist are accepted, and listed as `missing`. */
export const MANY = z.object({
  username: repeated('A username or an alias.', z.string(), ['Ada', 'ghost']),
  uid: repeated('A UID. If one is malformed, the whole request is refused.', uid(), [12]),
  authid: repeated('An auth ID.', z.string(), ['auth0|3c6ef362']),
});

/** The query of the leaderboard: which page. */
export const PAGE = z.object({
  limit: described(whole(LIMIT), 'The maximum number of entries; there are fewer if they would exceed 1 MiB.', 3),
  offset: described(whole(OFFSET), 'The number of entries before the page.', 0),
});

/** The header of conditional requests. */
export const IF_NONE_MATCH = z.object({
  'If-None-Match': described(
    z.string().optional(),
    'The ETag of a stored response, a list of ETags, or `*`. If the response has not changed, a 304 without a body is sent.',
  ),
});
