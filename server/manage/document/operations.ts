import { z } from 'zod';
import { LinesDone, Me, Token } from '../../../shared/api/manage-bodies.ts';
import type { ErrorCode } from '../../../shared/errors.ts';
import { CLI_CLIENT_ID } from '../../../shared/sign-in/cli-client.ts';
import { type Headers, ownHeader } from '../../docs/openapi/headers.ts';
import type { Parameters } from '../../docs/openapi/parameters.ts';

/** What the document says of one operation, beside what its route says. */
export type ManageDoc = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameters;
  /** The type and schema of the body of a request. */
  request?: { type: string; schema: z.ZodType };
  /** With which statuses it answers where nothing is refused; 200 where they are left out. */
  statuses?: readonly number[];
  /** The body of these answers, and the headers that only this operation has. */
  body: z.ZodType;
  headers?: Headers;
  /** The refusals that not every operation has. */
  refusals: readonly ErrorCode[];
};

/** Makes the description of an optional parameter. */
export function inQuery(schema: z.ZodType, description: string): z.ZodType {
  return schema.optional().meta({ param: { description } });
}

/** The operations by their methods and paths. */
export const MANAGE_DOCS: Record<string, ManageDoc> = {
  'GET /manage/v1/me': {
    operationId: 'getMe',
    summary: 'Ask what the token may do',
    description: 'Whose token this is: of a platform, with its rights and limits, of an owner or of an admin.',
    body: Me,
    refusals: [],
  },
  'POST /manage/v1/profiles': {
    operationId: 'putProfiles',
    summary: 'Put profiles in, change and erase them',
    description:
      'JSON Lines as `profilectl profiles import` takes them. Without `partial`: up to 1 000 lines and 4 MiB, all or nothing. With it: up to 50 000 lines and 64 MiB, bad lines left out, in batches. After the answer every lookup sees what is in. Sending the same again is harmless. One request at a time is worked on.',
    parameters: {
      query: z.object({
        mode: inQuery(
          z.enum(['replace', 'merge']),
          'Whether a line replaces the profile, or changes the fields that it has.',
        ),
        partial: inQuery(z.literal('1'), 'Leave bad lines out and put the rest in.'),
        'as-of': inQuery(
          z.iso.datetime({ offset: true }),
          'When the lines were read: those of profiles that were written or erased here since are left out, and counted as `newer`. Not in the future, nor more than 40 days ago.',
        ),
      }),
    },
    request: { type: 'application/jsonl', schema: z.string() },
    body: LinesDone,
    refusals: ['lines_cut_off', 'too_many_lines', 'not_lines', 'lines_refused', 'feed_running'],
  },
  'POST /manage/v1/sign-ins': {
    operationId: 'handOver',
    summary: 'Sign a user in',
    description:
      'An address to which the backend sends the browser of a user who is signed in with it. It works once, for a minute; looking at it changes nothing.',
    request: {
      type: 'application/json',
      schema: z.union([z.strictObject({ uid: z.int().min(1) }), z.strictObject({ authId: z.string().min(1) })]),
    },
    body: z.strictObject({ address: z.url(), expiresAt: z.iso.datetime() }),
    refusals: ['bad_body', 'not_found', 'body_too_long', 'not_json'],
  },
  'POST /manage/v1/token': {
    operationId: 'exchangeCode',
    summary: 'Get a person’s token for a code',
    description:
      'RFC 6749, section 4.1.3, with RFC 7636. The code comes from `/developers/cli` and works once: for 5 minutes, or for 10 and five tries where a person types it, which is where no `redirect_uri` was given. An owner’s token works for 90 days, and until it was not used for 30; an admin’s for 12 hours. A second use of a code ends the token.',
    request: {
      type: 'application/x-www-form-urlencoded',
      schema: z.strictObject({
        grant_type: z.literal('authorization_code'),
        client_id: z.literal(CLI_CLIENT_ID),
        code: z.string(),
        code_verifier: z.string().regex(/^[A-Za-z0-9._~-]{43,128}$/),
        redirect_uri: z.string().describe('Where `/developers/cli` was given one: the same.').optional(),
      }),
    },
    body: Token,
    headers: { Pragma: ownHeader(z.literal('no-cache'), 'Keep nothing, for HTTP/1.0.') },
    refusals: ['invalid_grant', 'unsupported_grant_type'],
  },
  'POST /manage/v1/revoke': {
    operationId: 'revokeToken',
    summary: 'End a person’s token',
    description:
      'RFC 7009. A token that is unknown or has ended is answered in the same way; one of a platform is not ended here.',
    request: {
      type: 'application/x-www-form-urlencoded',
      schema: z.strictObject({
        token: z.string(),
        client_id: z.literal(CLI_CLIENT_ID),
        token_type_hint: z.string().optional(),
      }),
    },
    body: z.strictObject({}),
    refusals: ['unsupported_token_type'],
  },
};
