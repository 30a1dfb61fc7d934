import { z } from 'zod';
import { FIELDS } from '../keys/fields/inputs.ts';
import type { JsonDoor, Texts } from './entry.ts';

// What decisions of admins have in common. Nobody decides by a token: there the address of the key's page is the answer.

/** The input of a decision on a key for which a reason is needed. */
export const WITH_REASON = z.object({ identifier: FIELDS.identifier, reason: FIELDS.reason });

/** After Ctrl-C nothing is said but what is said of every operation. */
export const asEver: Texts['interrupted'] = () => null;

/** The route of a decision, which `verb` names in its path; `what` follows "an admin can". */
export function decision(verb: string, what: string): JsonDoor {
  return {
    method: 'POST',
    path: `/:identifier/${verb}`,
    operationId: `${verb}Key`,
    description: `For admins, whose token only reads. Whatever the body is, nothing is done, and the answer is 403 \`decision_needed\` with the \`address\` of the page on which an admin can ${what} by a passkey. Look at the key to see what was decided.`,
    answers: 'key',
  };
}
