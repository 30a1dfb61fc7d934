import { AUTH_ID, LIMIT, MANY_MAX, OFFSET, UID, USERNAME } from '../../../shared/api/parameters.ts';
import type { Parameter, Schema } from './types.ts';

/** The parameter of `/api/lookup/username/{username}`. */
export const USERNAME_IN_PATH: Parameter = {
  name: 'username',
  in: 'path',
  required: true,
  description:
    'The username or an alias, percent-encoded. Compared in folded form: Unicode NFKC and lower case. A name that could not exist is nobody’s.',
  schema: USERNAME,
  example: 'Ada',
};

/** The parameter of `/api/lookup/uid/{uid}`. */
export const UID_IN_PATH: Parameter = {
  name: 'uid',
  in: 'path',
  required: true,
  description: 'The id of the profile, in decimal without leading zeros.',
  schema: UID,
  example: 7,
};

/** The parameter of `/api/lookup/authid/{authId}`. */
export const AUTH_ID_IN_PATH: Parameter = {
  name: 'authId',
  in: 'path',
  required: true,
  description:
    'The auth ID, 1 to 255 bytes, percent-encoded (`/` as `%2F`) and matched exactly. One that could not exist is nobody’s.',
  schema: AUTH_ID,
  example: 'auth0|ada',
};

const repeated = (name: string, what: string, schema: Schema, example: unknown): Parameter => ({
  name,
  in: 'query',
  required: false,
  description: `${what} May be repeated; all three together 1 to ${MANY_MAX} times.`,
  style: 'form',
  explode: true,
  schema: { type: 'array', maxItems: MANY_MAX, items: schema },
  example,
});

/** The query of a lookup of many profiles. Values that no profile can have are allowed; they are listed as `missing`. */
export const MANY: readonly Parameter[] = [
  repeated('username', 'A username or an alias.', { type: 'string' }, ['Ada', 'ghost']),
  repeated('uid', 'A UID; a malformed one refuses the whole request.', UID, [12]),
  repeated('authid', 'An auth ID.', { type: 'string' }, ['auth0|3c6ef362']),
];

/** The query of the leaderboard: which page. */
export const PAGE: readonly Parameter[] = [
  {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'How many entries the page has at most.',
    schema: LIMIT,
    example: 3,
  },
  {
    name: 'offset',
    in: 'query',
    required: false,
    description: 'How many entries of the board come before the page.',
    schema: OFFSET,
    example: 0,
  },
];

/** The request header by which a client asks only for what has changed. */
export const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the answer that the client has, a list of them, or `*`. Where the answer is still that one, it is a 304 without a body.',
  schema: { type: 'string' },
};
