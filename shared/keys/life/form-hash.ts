import { and, eq } from 'drizzle-orm';
import type { Tx } from '../../db/connect.ts';
import { apiKeys } from '../../db/schema/keys.ts';

// Recognises a request that the same form submits twice, for example after a double click.

/** SHA-256 of a form's id and its request; null without an id. */
export function hashForm(formId: string | null | undefined, asked: object): Buffer | null {
  if (!formId) return null;
  return new Bun.CryptoHasher('sha256').update(JSON.stringify([formId, asked])).digest();
}

/** The identifier of the key that the profile requested with the same form; null if there is none. */
export function requestedByForm(tx: Tx, profileId: number, formHash: Buffer | null): string | null {
  if (formHash === null) return null;
  const isSame = and(eq(apiKeys.profileId, profileId), eq(apiKeys.formHash, formHash));
  return tx.select({ identifier: apiKeys.identifier }).from(apiKeys).where(isSame).get()?.identifier ?? null;
}
