import { hasEnded, hasSecret, KEYS_PER_PROFILE } from '../../../shared/keys/key.ts';
import { countOlder } from '../../../shared/keys/list.ts';
import { type Owner, readOwnerById } from '../../../shared/keys/record.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { countText } from '../../../shared/text.ts';
import { type Html, html, userText } from '../../html.ts';
import { endText } from '../html/key-facts.ts';
import { relativeTime } from '../html/time.ts';
import { performFor } from '../requests/operation-form.ts';
import type { PageContext } from '../requests/request-context.ts';

// What the pages of owners have in common.

/** The profile of the signed-in owner. Throws `not_found` if it has just been erased. */
export function ownProfile({ deps, session }: PageContext): Owner {
  return readOwnerById(deps.db, session?.profileId as number);
}

/** The note about a ban: what it means for the keys, and what the owner can still do. Empty if there is none. */
export function bannedNote({ username, banned }: Owner): Html {
  if (!banned) return html``;
  return html`<p class="note">The profile <bdi>${username}</bdi> is banned. Its keys are refused while the ban lasts, and work again when it is lifted. Until then you can look at keys, withdraw requests and revoke keys, but not request or rename any.</p>`;
}

/** The URL of a key's page for its owner. */
export function ownKeyPath({ to }: PageContext, identifier: string): string {
  return to(`/developers/keys/${identifier}`);
}

/** A key's name as a link to its page. */
export function ownKeyLink(context: PageContext, { identifier, name }: Pick<KeyView, 'identifier' | 'name'>): Html {
  return html`<a href="${ownKeyPath(context, identifier)}">${userText(name)}</a>`;
}

/** The breadcrumbs of a page: the list of keys and, for a page about one key, that key. */
export function crumbs(context: PageContext, key?: KeyView): Html {
  const one = key === undefined ? '' : html` / ${ownKeyLink(context, key)}`;
  return html`<nav class="crumbs" aria-label="Breadcrumb"><span><a href="${context.to('/developers/keys')}">API keys</a>${one}</span></nav>`;
}

/** All keys of the profile, and those that take one of its places. */
export async function ownKeys(context: PageContext) {
  const { keys, lastUses } = await performFor(context, OPERATIONS.list, {});
  return { keys, lastUses, inUse: keys.filter(({ state }) => !hasEnded(state)) };
}

/** How many places are taken: `1 of 3 keys used`. */
export function usedText(inUse: readonly KeyView[]): string {
  return `${inUse.length} of ${KEYS_PER_PROFILE} keys used`;
}

/** Whether all places are taken, so that no key can be requested. */
export function isFull(inUse: readonly KeyView[]): boolean {
  return inUse.length >= KEYS_PER_PROFILE;
}

/** The line about a key in the list and under its name: since when it has been waiting, when it was last used and when it ends. */
export function keyMeta({ deps, nowMs }: PageContext, key: KeyView, usedAtMs: number | null): (Html | string)[] {
  const { state, requestedAt, expiresAt, identifier } = key;
  const asked = html`requested ${relativeTime(Date.parse(requestedAt), nowMs)}`;
  if (state === 'pending') {
    const older = countOlder(deps, identifier);
    return [asked, older === 0 ? 'next in line' : `${countText(older, 'request')} ahead of it`];
  }
  const used = usedAtMs === null ? null : html`last used ${relativeTime(usedAtMs, nowMs)}`;
  if (!hasSecret(state)) return [asked, ...(used === null ? [] : [used])];
  return [used ?? 'not used yet', ...(expiresAt === null ? [] : [endText(key, nowMs)])];
}
