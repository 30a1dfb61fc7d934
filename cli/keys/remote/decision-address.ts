import type { z } from 'zod';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import { typedText } from '../../../shared/keys/fields/input-text.ts';
import { flaggedInputs } from '../../../shared/operations/entry.ts';
import type { Decision } from './decision-outcome.ts';

// URLs of the pages on which admins decide. They are built from the server URL named by the person, never from anything
// that a server sends.

/** The page with the pending requests. */
export function queuePage(server: string): string {
  return `${server}/developers/admin`;
}

/** The page of a key, with the form of the operation filled in. */
export function keyPage(server: string, { operation, identifier, given }: Decision): string {
  const fields = flaggedInputs(operation, 'admin').filter(([input]) => given[input] !== undefined);
  const values = fields.map(([input, schema]) => [formNameOf(input, schema), linkText(schema, given[input])] as const);
  const pairs = [['operation', operation.name] as const, ...values].map(
    ([name, value]) => `${name}=${encodeURIComponent(value).replace(/%2F|%2C|%3A/g, decodeURIComponent)}`,
  );
  return `${queuePage(server)}/keys/${identifier}?${pairs.join('&')}`;
}

function linkText(schema: z.ZodType, value: unknown): string {
  if (value === null) return 'never';
  return typedText(factsOf(schema).kind, value).join(',').replaceAll(' ', ',');
}
