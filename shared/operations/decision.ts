import { z } from 'zod';
import { FIELDS } from '../keys/fields/inputs.ts';
import type { JsonDoor } from './entry.ts';

// What decisions of admins have in common. They can't be made with a token, which is answered with the URL of the key's
// page.

/** The input of a decision that needs a reason. */
export const WITH_REASON = z.object({ identifier: FIELDS.identifier, reason: FIELDS.reason });

/** The route of a decision, whose path contains `verb`; `what` follows "an admin can". */
export function decision(verb: string, what: string): JsonDoor {
  return {
    method: 'POST',
    path: `/:identifier/${verb}`,
    operationId: `${verb}Key`,
    summary: `Find the page to ${what}`,
    description: `For admins, whose token only reads. Whatever the body is, nothing is done, and the answer is 403 \`decision_needed\` with the \`address\` of the page on which an admin can ${what} by a passkey. Look at the key to see what was decided.`,
    answers: 'key',
  };
}
