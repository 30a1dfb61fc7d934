import type { Person } from '../actor.ts';
import type { Deps } from '../deps.ts';

import type { ListInput } from '../keys/fields/input-groups.ts';
import { isFoundBy } from '../keys/find.ts';
import { type Cursor, cursorOf, readCursor } from '../keys/list-cursor.ts';

import { readKey, readOwnerByName } from '../keys/record.ts';
import { type KeyView, listKeys, showKey } from '../keys/view.ts';
import { lastUses, unusedKeys } from './usage-view.ts';

/**
 * Keys, and when each was last used (milliseconds since 1970, by identifier; absent where it never was). `next` is the place
 * at which a list goes on that has more than its part; else null.
 */
export type ListOutput = { keys: KeyView[]; lastUses: Map<string, number>; next: string | null };

/** The keys that a person asks for, as he may see them; an owner's own only. Throws `not_found` for the profile. */
export function listForPerson(deps: Deps, actor: Person, input: ListInput): ListOutput {
  const { states, profile, unusedForMs } = input;
  const limit = input.limit ?? undefined;
  // An owner's own id, not the name: another process may have given the name to another profile just now.
  const named = profile ? readOwnerByName(deps.db, profile).id : undefined;
  const profileId = actor.kind === 'owner' ? actor.profileId : named;
  // One more than is asked for tells whether the list goes on.
  const after = input.after ? cursorAfter(deps, actor, input.after) : undefined;
  const part = limit === undefined ? undefined : { limit: limit + 1, after };
  const also = input.find ? isFoundBy(deps.db, input.find) : undefined;
  const filter = { profileId, namePart: input.namePart ?? undefined, also };
  const found =
    unusedForMs === undefined || unusedForMs === null
      ? listKeys(deps, { ...filter, states: states ?? undefined }, actor.kind, part)
      : unusedKeys(deps, unusedForMs, filter, actor.kind, part);
  const keys = found.slice(0, limit);
  const areFew = profileId !== undefined || limit !== undefined;
  const uses = lastUses(deps, areFew ? keys.map(({ identifier }) => identifier) : undefined);
  const last = keys.at(-1);
  return {
    keys,
    lastUses: new Map(keys.flatMap(({ identifier: key }) => entryOf(uses, key))),
    next: found.length > keys.length && last !== undefined ? cursorOf(last) : null,
  };
}

/** The place that a text is, or that of the key with this identifier as it is now. Throws `not_found` for one that the person can't see. */
function cursorAfter(deps: Deps, actor: Person, text: string): Cursor | undefined {
  const place = readCursor(text);
  if (place !== null) return place;
  readKey(deps.db, text, actor.kind === 'owner' ? actor.profileId : undefined);
  return readCursor(cursorOf(showKey(deps, text))) ?? undefined;
}

function entryOf(uses: ReadonlyMap<string, number>, key: string): [string, number][] {
  const at = uses.get(key);
  return at === undefined ? [] : [[key, at]];
}
