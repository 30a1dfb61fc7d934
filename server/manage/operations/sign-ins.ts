import { z } from 'zod';
import { whenUnlocked } from '../../../shared/db/when-unlocked.ts';
import { handOver } from '../../../shared/sign-in/hand-over.ts';
import { readInput } from '../input.ts';
import type { Call, JsonAnswer } from '../request-context.ts';

// One sentence for all errors: zod would report those of the variant that the body fits best.
const error = 'Name the profile by uid (a whole number from 1) or by authId (a string), but not by both.';

/** The body of `POST /manage/v1/sign-ins`: whom the backend has signed in. */
export const HAND_OVER = z.union(
  [
    z.strictObject({ uid: z.int({ error }).min(1, { error }) }, { error }),
    z.strictObject({ authId: z.string().min(1, { error }) }, { error }),
  ],
  { error },
);

/**
 * `POST /manage/v1/sign-ins`: creates a URL to which the backend redirects a user whom it has signed in. Throws `bad_body` if
 * the body does not name one profile, and `not_found`.
 */
export async function signIns({ access, token, body, waitUntilMs }: Call): Promise<JsonAnswer> {
  const who = readInput(HAND_OVER, body, 'bad_body');
  await whenUnlocked(access.sessions.sqlite, waitUntilMs);
  return { body: handOver(access, who, token.identifier) };
}
