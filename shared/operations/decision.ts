import { z } from 'zod';
import { FIELDS } from '../keys/fields/inputs.ts';
import type { JsonDoor } from './entry.ts';

// Shared by all decisions of admins. A token can't make them: the response is the URL of the key's page.

/** The input of a decision that needs a reason. */
export const WITH_REASON = z.object({ identifier: FIELDS.identifier, reason: FIELDS.reason });

/** The route of the decision `verb`; `what` follows "an admin can". */
export function decision(verb: string, what: string): JsonDoor {
  return {
    method: 'POST',
    path: `/:identifier/${verb}`,
    operationId: `${verb}Key`,
    summary: `Find the page to ${what}`,
    description: `For admins. Always responds 403 \`decision_needed\` and changes nothing, whatever the body: an admin’s token is read-only. \`address\` is the page where an admin can ${what} with a passkey. Get the key to see what was decided.`,
    answers: 'key',
  };
}
