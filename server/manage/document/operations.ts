import { CLI_CLIENT_ID } from '../../../shared/access/cli-client.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import type { Header, Parameter, Schema } from '../../api-doc/document/types.ts';

/** What the document says of one operation, beside what its route says. */
export type ManageDoc = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameter[];
  /** The type and schema of the body of a request. */
  request?: { type: string; schema: Schema };
  /** With which statuses it answers where nothing is refused; 200 where they are left out. */
  statuses?: readonly number[];
  /** The body of these answers, and the headers that only this operation has. */
  body: Schema;
  headers?: Record<string, Header>;
  /** The refusals that not every operation has. */
  refusals: readonly ErrorCode[];
};

const text: Schema = { type: 'string' };
const count: Schema = { type: 'integer', minimum: 0 };
const flag: Schema = { type: 'boolean' };
const maybe = (type: string): Schema => ({ type: [type, 'null'] });

const IDENTIFIER: Schema = { type: 'string', pattern: '^[0-9A-Za-z]{8}$' };
const CLIENT_ID: Schema = { type: 'string', enum: [CLI_CLIENT_ID] };
const ENDS_AT: Schema = {
  type: 'string',
  format: 'date-time',
  description: 'When the token ends at the latest, however much it is used.',
};

/** An object with exactly these members, but for those that are optional. */
export function objectOf(properties: Record<string, Schema>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** The lines that were left out. */
const REFUSED: Schema = {
  type: 'array',
  items: objectOf({
    line: { type: 'integer', minimum: 1 },
    id: maybe('integer'),
    field: maybe('string'),
    reason: text,
  }),
};

const COUNTS = {
  imported: { ...count, description: 'Lines that put a profile in or changed one.' },
  deleted: { ...count, description: 'Profiles that were there and that a line erased.' },
  notThere: { ...count, description: 'Lines that erase a profile that is not there.' },
  unaddressed: {
    ...count,
    description: 'Profiles that have no e-mail address any more, because their line has no `email` and replaces them.',
  },
  refused: REFUSED,
  dropped: {
    type: 'object',
    additionalProperties: count,
    description:
      'How often each field was left out that profiles do not have; `links` counts links of an unsafe scheme.',
  },
} satisfies Record<string, Schema>;

/** The body of a 422: with the counts where `partial=1` was sent, else with the lines alone, or the sentence alone. */
export const LINES_REFUSED: Schema = objectOf({ error: text, ...COUNTS }, Object.keys(COUNTS));

const parameter = (name: string, values: string[], description: string): Parameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'string', enum: values },
});

/** The operations by their methods and paths. */
export const MANAGE_DOCS: Record<string, ManageDoc> = {
  'GET /manage/v1/me': {
    operationId: 'getMe',
    summary: 'Ask what the token may do',
    description: 'Whose token this is: of a platform, with its rights and limits, of an owner or of an admin.',
    body: {
      anyOf: [
        objectOf({
          kind: { type: 'string', enum: ['platform'] },
          name: text,
          token: IDENTIFIER,
          rights: { type: 'array', items: { type: 'string', enum: ['profiles', 'sign-ins'] } },
          withoutAddress: flag,
          eraseLimit: count,
        }),
        objectOf({
          kind: { type: 'string', enum: ['owner'] },
          name: { ...text, description: 'The username of the profile, as it is now.' },
          token: IDENTIFIER,
          endsAt: ENDS_AT,
          profile: text,
        }),
        objectOf({
          kind: { type: 'string', enum: ['admin'] },
          name: text,
          token: IDENTIFIER,
          endsAt: ENDS_AT,
          defaultRateLimits: {
            type: 'array',
            items: objectOf({ quota: { ...count, minimum: 1 }, windowSeconds: { ...count, minimum: 1 } }),
            description: 'What a key is granted where nobody says otherwise.',
          },
        }),
      ],
    },
    refusals: [],
  },
  'POST /manage/v1/profiles': {
    operationId: 'putProfiles',
    summary: 'Put profiles in, change and erase them',
    description:
      'JSON Lines as `profilectl profiles import` takes them. Without `partial`: up to 1 000 lines and 4 MiB, all or nothing. With it: up to 50 000 lines and 64 MiB, bad lines left out, in batches. After the answer every lookup sees what is in. Sending the same again is harmless. One request at a time is worked on.',
    parameters: [
      parameter(
        'mode',
        ['replace', 'merge'],
        'Whether a line replaces the profile, or changes the fields that it has.',
      ),
      parameter('partial', ['1'], 'Leave bad lines out and put the rest in.'),
    ],
    request: { type: 'application/jsonl', schema: text },
    body: objectOf(COUNTS),
    refusals: ['lines_cut_off', 'too_many_lines', 'not_lines', 'lines_refused', 'feed_running'],
  },
  'POST /manage/v1/sign-ins': {
    operationId: 'handOver',
    summary: 'Sign a user in',
    description:
      'An address to which the backend sends the browser of a user who is signed in with it. It works once, for a minute; looking at it changes nothing.',
    request: {
      type: 'application/json',
      schema: {
        anyOf: [objectOf({ uid: { type: 'integer', minimum: 1 } }), objectOf({ authId: { ...text, minLength: 1 } })],
      },
    },
    body: objectOf({ address: { type: 'string', format: 'uri' }, expiresAt: { type: 'string', format: 'date-time' } }),
    refusals: ['bad_body', 'not_found', 'body_too_long', 'not_json'],
  },
  'POST /manage/v1/token': {
    operationId: 'exchangeCode',
    summary: 'Exchange a code for a person’s token',
    description:
      'RFC 6749, section 4.1.3, with RFC 7636. The code comes from `/developers/cli`, works once, for 5 minutes. An owner’s token works for 90 days, and until it was not used for 30; an admin’s for 12 hours. A second use of a code ends the token.',
    request: {
      type: 'application/x-www-form-urlencoded',
      schema: objectOf(
        {
          grant_type: { type: 'string', enum: ['authorization_code'] },
          client_id: CLIENT_ID,
          code: text,
          code_verifier: { type: 'string', pattern: '^[A-Za-z0-9._~-]{43,128}$' },
          redirect_uri: { type: 'string', description: 'Where `/developers/cli` was given one: the same.' },
        },
        ['redirect_uri'],
      ),
    },
    body: objectOf({
      access_token: { type: 'string', pattern: '^plt_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$' },
      token_type: { type: 'string', enum: ['Bearer'] },
      expires_in: { ...count, description: 'Seconds until the token ends at the latest.' },
    }),
    headers: {
      Pragma: {
        description: 'Keep nothing, for HTTP/1.0.',
        required: true,
        schema: { type: 'string', enum: ['no-cache'] },
      },
    },
    refusals: ['invalid_grant', 'unsupported_grant_type'],
  },
  'POST /manage/v1/revoke': {
    operationId: 'revokeToken',
    summary: 'End a person’s token',
    description:
      'RFC 7009. A token that is unknown or has ended is answered in the same way; one of a platform is not ended here.',
    request: {
      type: 'application/x-www-form-urlencoded',
      schema: objectOf({ token: text, client_id: CLIENT_ID, token_type_hint: text }, ['token_type_hint']),
    },
    body: objectOf({}),
    refusals: ['unsupported_token_type'],
  },
};
