import { z } from 'zod';
import { BACKEND_RIGHTS } from '../db/people-columns.ts';
import { Identifier } from './key-bodies.ts';

// The response bodies of `/manage/v1` about tokens and profiles, which like `key-bodies.ts` drop unknown fields.

const count = z.int().min(0);

const endsAt = z.iso.datetime().describe('When the token expires at the latest, even if it is used.');

const token = { name: z.string(), token: Identifier };

/** The holder of the token, and what it may do. */
export const Me = z.union([
  z.object({
    kind: z.literal('platform'),
    ...token,
    rights: z.array(z.enum(BACKEND_RIGHTS)),
    withoutAddress: z.boolean(),
    eraseLimit: count,
  }),
  z.object({
    kind: z.literal('owner'),
    ...token,
    name: z.string().describe('The current username of the profile.'),
    endsAt,
    profile: z.string(),
  }),
  z.object({ kind: z.literal('admin'), ...token, endsAt }),
]);

/** A token of a person (RFC 6749, section 5.1). */
export const Token = z.object({
  access_token: z.string().regex(/^plt_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/),
  token_type: z.literal('Bearer'),
  expires_in: count.describe('The number of seconds until the token expires at the latest.'),
});

/** The result of importing lines. */
export const LinesDone = z.object({
  imported: count.describe('The number of lines that added or changed a profile.'),
  deleted: count.describe('The number of profiles that were erased.'),
  notThere: count.describe('The number of lines to erase a profile that did not exist.'),
  unaddressed: count.describe(
    'The number of profiles that lost their e-mail address, because their line replaced them and has no `email`.',
  ),
  newer: count.describe(
    'With `as-of`: the number of lines that were skipped, because their profile was written or erased here since then.',
  ),
  newerIds: z.array(z.int().min(1)).max(10).describe('The UIDs of the first ten skipped lines.'),
  refused: z.array(
    z.object({
      line: z.int().min(1),
      id: z.int().nullable(),
      field: z.string().nullable(),
      reason: z.string(),
    }),
  ),
  dropped: z
    .record(z.string(), count)
    .describe('How many times each unknown field was dropped; `links` counts links with an unsafe scheme.'),
});

/** The body of a 422: with `partial=1` all counts, otherwise only the refused lines, or only the sentence. */
export const LinesRefused = z.object({ error: z.string(), ...LinesDone.partial().shape });
