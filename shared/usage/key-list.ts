import { and, type SQL } from 'drizzle-orm';
import type { Person } from '../actor.ts';
import type { Deps } from '../deps.ts';
import type { ListInput } from '../keys/inputs.ts';
import { type Cursor, cursorOf, isFoundBy, readCursor } from '../keys/list.ts';
import { readKey } from '../keys/record.ts';
import { type KeyView, listKeys, showKey } from '../keys/view.ts';
import { findProfile } from '../profiles/find.ts';
import { lastUses } from './usage-view.ts';

/** A list of keys, or one page of it. */
export type ListOutput = {
  keys: KeyView[];
  /** By identifier, in milliseconds since 1970; absent for keys that were never used. */
  lastUses: Map<string, number>;
  /** The cursor of the next page; null on the last one. */
  next: string | null;
};

/** Lists keys that match the input and the condition; owners see only their own. Throws `not_found` for an unknown profile. */
export function listForPerson(deps: Deps, actor: Person, input: ListInput, condition?: SQL): ListOutput {
  const { states, profile } = input;
  const limit = input.limit ?? undefined;
  // By id for owners: another process may have given their name to another profile by now.
  const named = profile ? findProfile(deps.db, profile).id : undefined;
  const profileId = actor.kind === 'owner' ? actor.profileId : named;
  // One more than requested shows whether there is a next page.
  const after = input.after ? cursorAfter(deps, actor, input.after) : undefined;
  const part = limit === undefined ? undefined : { limit: limit + 1, after };
  const also = and(condition, input.find ? isFoundBy(deps.db, input.find) : undefined);
  const found = listKeys(deps, { profileId, also, states: states ?? undefined }, actor.kind, part);
  const keys = found.slice(0, limit);
  const identifiers = keys.map(({ identifier }) => identifier);
  const last = keys.at(-1);
  return {
    keys,
    lastUses: lastUses(deps, identifiers),
    next: found.length > keys.length && last !== undefined ? cursorOf(last) : null,
  };
}

/** Parses a cursor or the identifier of a key. Throws `not_found` for a key that the person can't see. */
function cursorAfter(deps: Deps, actor: Person, text: string): Cursor | undefined {
  const cursor = readCursor(text);
  if (cursor !== null) return cursor;
  readKey(deps.db, text, actor.kind === 'owner' ? actor.profileId : undefined);
  return readCursor(cursorOf(showKey(deps, text))) ?? undefined;
}
