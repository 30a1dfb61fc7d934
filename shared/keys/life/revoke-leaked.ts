import { eq } from 'drizzle-orm';
import { SERVICE } from '../../actor.ts';
import type { Tx } from '../../db/connect.ts';
import { apiKeys } from '../../db/schema/keys.ts';
import { write } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { mailOwner, tellAdmins } from '../../mail/outbox.ts';
import { revocationMail } from '../../mail/texts/key-mails.ts';
import { exposureMail } from '../../mail/texts/other-mails.ts';
import { hasSecret, stateAt } from '../key.ts';
import { type ApiKey, moveKey } from '../record.ts';
import { identifierOfSecret, secretMatches } from '../secret.ts';

/** The reason in the history and in the mail to the owner. */
const LEAKED_REASON =
  'Somebody pasted the secret of this key on the page “Found a secret?”, without signing in, so others may know it.';

/** How many secrets in one piece of text are tried; a leaked file may contain several. */
const MAX_SECRETS = 10;

/** Looked up if the text has no secret, so that the same work is done. No key has this identifier. */
const NO_SECRET = { secret: '', identifier: '--------' };

/**
 * Revokes the Active or suspended keys whose secrets are in a piece of text, at most ten, and notifies their owners,
 * ADMIN_EMAIL and ADMIN_WEBHOOK_URL. Every text causes one write transaction with at least one lookup, and nothing is returned,
 * so that the response does not show which secrets work.
 * Throws `refused` if the database can't be written.
 */
export function revokeLeakedKeys(deps: Deps, text: string): void {
  const found = secretsIn(text);
  write(deps.db, (tx) => {
    const nowMs = deps.clock.nowMs();
    for (const { secret, identifier } of found) {
      const key = tx.select().from(apiKeys).where(eq(apiKeys.identifier, identifier)).get();
      const isRight = secretMatches(secret, key?.secretHash ?? null);
      if (key !== undefined && isRight && hasSecret(stateAt(key, nowMs))) revokeLeakedKey(tx, deps, key, nowMs);
    }
  });
}

function secretsIn(text: string): { secret: string; identifier: string }[] {
  const secrets = new Set(text.match(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g) ?? []);
  const found = [...secrets].flatMap((secret) => {
    const identifier = identifierOfSecret(secret);
    return identifier === null ? [] : [{ secret, identifier }];
  });
  return found.length === 0 ? [NO_SECRET] : found.slice(0, MAX_SECRETS);
}

function revokeLeakedKey(tx: Tx, { config }: Deps, key: ApiKey, nowMs: number): void {
  const act = { by: SERVICE, atMs: nowMs };
  moveKey(tx, key, 'revoke', act, { detail: { reason: LEAKED_REASON } });
  const said = { reason: LEAKED_REASON, isOwnDoing: false };
  mailOwner(tx, config, key.identifier, (news) => revocationMail({ ...news, ...said }), act);
  const sentenceOf = (about: string) => `The secret of ${about} was found, and the key was revoked.`;
  tellAdmins(tx, config, key.identifier, { textOf: exposureMail, sentenceOf }, act);
}
