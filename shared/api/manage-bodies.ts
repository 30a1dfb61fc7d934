import { z } from 'zod';
import { BACKEND_RIGHTS } from '../db/people-columns.ts';
import { Identifier } from './key-bodies.ts';

// What `/manage/v1` answers about tokens and profiles. As in `key-bodies.ts`, fields that a later version adds are left out.

const count = z.int().min(0);

const endsAt = z.iso.datetime().describe('When the token ends at the latest, however much it is used.');

const token = { name: z.string(), token: Identifier };

/** Whose token it is, and what it may do. */
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
    name: z.string().describe('The username of the profile, as it is now.'),
    endsAt,
    profile: z.string(),
  }),
  z.object({ kind: z.literal('admin'), ...token, endsAt }),
]);

/** A token of a person (RFC 6749, section 5.1). */
export const Token = z.object({
  access_token: z.string().regex(/^plt_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}$/),
  token_type: z.literal('Bearer'),
  expires_in: count.describe('Seconds until the token ends at the latest.'),
});

/** What became of lines that were sent. */
export const LinesDone = z.object({
  imported: count.describe('Lines that put a profile in or changed one.'),
  deleted: count.describe('Profiles that were there and that a line erased.'),
  notThere: count.describe('Lines that erase a profile that is not there.'),
  unaddressed: count.describe(
    'Profiles that have no e-mail address any more, because their line has no `email` and replaces them.',
  ),
  newer: count.describe(
    'With `as-of`: lines that were left out, because their profile was written or erased here since.',
  ),
  newerIds: z.array(z.int().min(1)).max(10).describe('The profiles of the first ten of these.'),
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
    .describe('How often each field was left out that profiles do not have; `links` counts links of an unsafe scheme.'),
});

/** The body of a 422: with the counts where `partial=1` was sent, else with the lines alone, or the sentence alone. */
export const LinesRefused = z.object({ error: z.string(), ...LinesDone.partial().shape });
