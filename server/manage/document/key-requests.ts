import { z } from 'zod';
import { Identifier } from '../../../shared/api/key-bodies.ts';
import { PERMISSIONS } from '../../../shared/db/key-columns.ts';
import { MAX_PROJECT_URL, TEXT_RULES, type TextRule } from '../../../shared/keys/fields.ts';

// The bodies that the operations on keys take.

const textOf = ({ least, most }: TextRule) => z.string().min(least).max(most);
const permissions = z.array(z.enum(PERMISSIONS)).min(1);

/** The body that asks for a key. */
export const REQUEST_BODY = z.strictObject({
  profile: z.string().describe('The username or an alias; an owner may leave it out.').optional(),
  name: textOf(TEXT_RULES.name),
  description: textOf(TEXT_RULES.description),
  permissions,
  projectUrl: z.string().max(MAX_PROJECT_URL).nullable().optional(),
  expectedUsage: textOf(TEXT_RULES.expectedUsage).nullable().optional(),
  successorOf: Identifier.nullable().describe('The Active key of the same profile that it is to replace.').optional(),
});

/** The body that renames one. */
export const NAME_BODY = z.strictObject({ name: textOf(TEXT_RULES.name) });

/** The body of a revocation by the owner. */
export const REVOCATION_BODY = z.strictObject({ reason: textOf(TEXT_RULES.reason).nullable().optional() });
