import { AppError } from '../errors.ts';
import {
  type AccountMemory,
  FIELD,
  FIELDS,
  findRegion,
  HEAD,
  putRegion,
  regionsFrom,
  regionsOf,
  removeRegion,
  withTable,
  wordsOf,
} from './account-memory.ts';
import { identifierOfWords, wordsOfIdentifier } from './account-table.ts';
import { type Account, isUnused, newAccount } from './quota-account.ts';
import type { Ring } from './ring.ts';
import {
  byWindow,
  copyRings,
  fillRegion,
  limitsAt,
  type Region,
  ringsAt,
  viewRegion,
  withRegion,
} from './shared-region.ts';

// What the one thread does that keeps everybody's accounts: it brings them in from the file, copies out what has changed, and
// takes away what is as good as new.

/**
 * Puts an account that comes from the file; 'void' where there is one already, 'held' where a thread does not let go of the
 * table. Throws `busy` where there is no memory left.
 */
export function putAccount(
  memory: AccountMemory,
  identifier: string,
  rings: readonly Ring[],
): 'seated' | 'void' | 'held' {
  const words = wordsOfIdentifier(identifier);
  const limits = rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 })).sort(byWindow);
  let fault: unknown = null;
  const outcome = unlessHeld(() =>
    withTable(memory, () => {
      if (findRegion(memory, ...words) !== 0) return 'void';
      try {
        putRegion(memory, words, limits, (at) => fillRegion(memory, at, limits, rings, null));
      } catch (error) {
        fault = error;
      }
      return 'seated';
    }),
  );
  if (fault !== null) throw fault;
  return outcome ?? 'held';
}

/** A copy of an account; undefined where there is none, 'held' where a thread does not let go of it. */
export function copyAccount(memory: AccountMemory, identifier: string): Account | undefined | 'held' {
  const words = wordsOfIdentifier(identifier);
  const copy = () => {
    const at = findRegion(memory, ...words);
    return at === 0 ? undefined : accountAt(memory, at, copyRings(memory, at));
  };
  const found = unlessHeld(() => withTable(memory, copy));
  return found === null ? 'held' : found;
}

/** Copies of at most so many accounts that have changed since they were last taken. */
export function takeDirty(memory: AccountMemory, most: number): Account[] {
  const taken: Account[] = [];
  const words = wordsOf(memory);
  for (const at of regionsFrom(memory, memory.lookAt)) {
    if (words[at + HEAD.isDirty] !== 1 || words[at + HEAD.first] === 0) continue;
    if (taken.length >= most) {
      memory.lookAt = at;
      break;
    }
    // Before it is read: what is spent meanwhile is taken the next time.
    words[at + HEAD.isDirty] = 0;
    const rings = unlessHeld(() => copyRings(memory, at));
    if (rings === null) words[at + HEAD.isDirty] = 1;
    else taken.push(accountAt(memory, at, rings));
  }
  return taken;
}

function accountAt(memory: AccountMemory, at: number, rings: Ring[]): Account {
  const region = { ...viewRegion(memory, at), fieldsOf: rings.map((_, index) => index * FIELDS) };
  const account = newAccount(identifierOfWords(region.first, region.second), limitsAt(memory, at), rings, true);
  for (const [index, ring] of rings.entries()) {
    ring.savedHead = region.fields[index * FIELDS + FIELD.savedHead] as number;
  }
  account.region = region;
  return account;
}

/** Null where the lock that it needs is held by a thread that does not go on: its turn comes when that one is seen to be dead. */
function unlessHeld<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError && error.code === 'busy') return null;
    throw error;
  }
}

/** Notes of accounts from {@link takeDirty} whether they are in the file now; where not, they are dirty again. */
export function noteSaved(accounts: readonly Account[], isSaved: boolean): void {
  for (const { rings, region } of accounts) {
    const { head, fields, fieldsOf, first, second } = region as Region;
    if (head[HEAD.first] !== first || head[HEAD.second] !== second) continue;
    if (!isSaved) head[HEAD.isDirty] = 1;
    else for (const [index, ring] of rings.entries()) fields[(fieldsOf[index] as number) + FIELD.savedHead] = ring.head;
  }
}

/** Takes away the accounts whose every request has left its window; returns their identifiers. */
export function sweepAccounts(memory: AccountMemory, now: number): string[] {
  const swept: string[] = [];
  const isOver = (at: number) => isUnused(ringsAt(memory, at), now);
  for (const at of regionsOf(memory)) {
    const { head, first, second } = viewRegion(memory, at);
    if (first === 0 || unlessHeld(() => withRegion(memory, at, () => isOver(at))) !== true) continue;
    const isTried = unlessHeld(() =>
      withTable(memory, () => {
        // Nobody spends from it between this look and its end.
        const isGone = withRegion(memory, at, () => {
          if (head[HEAD.first] !== first || !isOver(at)) return false;
          head[HEAD.first] = 0;
          return true;
        });
        if (!isGone) return true;
        removeRegion(memory, at, first, second);
        swept.push(identifierOfWords(first, second));
        return true;
      }),
    );
    // Whoever holds the table may be dead, and this thread is who frees its locks: the next sweep does the rest.
    if (isTried !== true) break;
  }
  return swept;
}
