import { z } from 'zod';
import { LinesDone, Me, Token } from '../../../shared/api/manage-bodies.ts';
import type { ClientCode } from '../../../shared/errors.ts';
import { type Headers, ownHeader } from '../../docs/openapi/headers.ts';
import type { Parameters } from '../../docs/openapi/parameters.ts';
import type { Thrown } from '../../docs/openapi/refusals.ts';
import { FEED_QUERY } from '../operations/profiles.ts';
import { REVOKE_FORM } from '../operations/revoke.ts';
import { HAND_OVER } from '../operations/sign-ins.ts';
import { TOKEN_FORM } from '../operations/token.ts';

/** The documentation of one operation, except the parts that are generated from its route. */
export type ManageDoc = {
  operationId: string;
  summary: string;
  description: string;
  parameters?: Parameters;
  /** The media type and schema of request bodies. */
  request?: { type: string; schema: z.ZodType };
  /** The success statuses, 200 by default. */
  statuses?: readonly number[];
  /** The success body, and the headers that only this operation has. */
  body: z.ZodType;
  headers?: Headers;
  /** The refusals beyond those of every operation. */
  refusals: readonly ClientCode[];
  /** Such refusals with the operation’s own sentences. */
  thrown?: Thrown;
};

/** The operations by their methods and paths. */
export const MANAGE_DOCS: Record<string, ManageDoc> = {
  'GET /manage/v1/me': {
    operationId: 'getMe',
    summary: 'Look up the token',
    description: 'Whose token this is: a backend’s (with its rights and limits), an owner’s, or an admin’s.',
    body: Me,
    refusals: [],
  },
  'POST /manage/v1/profiles': {
    operationId: 'putProfiles',
    summary: 'Import, change and erase profiles',
    description:
      'JSON Lines as for `profilectl profiles import`. Without `partial`: up to 1 000 lines and 4 MiB, all or nothing. With `partial`: up to 50 000 lines and 64 MiB, in batches, without the bad lines. Every lookup after the response sees the changes. Sending the same lines again is harmless. One request is processed at a time.',
    parameters: { query: FEED_QUERY },
    request: { type: 'application/jsonl', schema: z.string() },
    body: LinesDone,
    refusals: ['lines_cut_off', 'too_many_lines', 'not_lines', 'lines_refused', 'feed_running'],
  },
  'POST /manage/v1/sign-ins': {
    operationId: 'handOver',
    summary: 'Sign a user in',
    description:
      'Creates a URL (`address`) to which the backend redirects the browser of a user whom it has signed in. It works once, within a minute; merely loading the page doesn’t use it up.',
    request: { type: 'application/json', schema: HAND_OVER },
    body: z.strictObject({ address: z.url(), expiresAt: z.iso.datetime() }),
    refusals: ['bad_body', 'not_found', 'body_too_long', 'not_json'],
  },
  'POST /manage/v1/token': {
    operationId: 'exchangeCode',
    summary: 'Get a personal token for a code',
    description:
      'RFC 6749, section 4.1.3, with RFC 7636. The code comes from `/developers/cli` and works once, within 5 minutes; without a `redirect_uri`, if a person types it, within 10 minutes and five tries. An owner’s token works for 90 days, or until it has not been used for 30; an admin’s for 12 hours. Using a code a second time revokes its token.',
    request: { type: 'application/x-www-form-urlencoded', schema: TOKEN_FORM },
    body: Token,
    headers: { Pragma: ownHeader(z.literal('no-cache'), 'Forbids caching, for HTTP/1.0.') },
    refusals: ['invalid_grant', 'unsupported_grant_type'],
  },
  'POST /manage/v1/revoke': {
    operationId: 'revokeToken',
    summary: 'Revoke a personal token',
    description:
      'RFC 7009. The response is the same if the token is unknown or no longer valid. A backend’s token can’t be revoked here.',
    request: { type: 'application/x-www-form-urlencoded', schema: REVOKE_FORM },
    body: z.strictObject({}),
    refusals: ['unsupported_token_type'],
  },
};
