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
import { byWindow, copyRings, fillRegion, limitsAt, ringsAt, viewRegion, withRegion } from './shared-region.ts';

// What the one thread does that keeps everybody's accounts: it brings them in from the file, copies out what has changed, and
// takes away what is as good as new.

/** Puts an account that comes from the file; false where there is one already. */
export function putAccount(memory: AccountMemory, identifier: string, rings: readonly Ring[]): boolean {
  const words = wordsOfIdentifier(identifier);
  const limits = rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 })).sort(byWindow);
  return withTable(memory, () => {
    if (findRegion(memory, ...words) !== 0) return false;
    putRegion(memory, words, limits, (at) => fillRegion(memory, at, limits, rings, null));
    return true;
  });
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
    const rings = copyRings(memory, at);
    const limits = limitsAt(memory, at);
    const { first, second, fields } = viewRegion(memory, at);
    const account = newAccount(identifierOfWords(first, second), limits, rings, true);
    account.savedHeads = rings.map((_, index) => fields[index * FIELDS + FIELD.savedHead] as number);
    taken.push(account);
  }
  return taken;
}

/** Notes of accounts from {@link takeDirty} whether they are in the file now; where not, they are dirty again. */
export function noteSaved(memory: AccountMemory, accounts: readonly Account[], isSaved: boolean): void {
  withTable(memory, () => {
    for (const { identifier, rings } of accounts) {
      const at = findRegion(memory, ...wordsOfIdentifier(identifier));
      if (at === 0) continue;
      const { head, fields } = viewRegion(memory, at);
      if (!isSaved) head[HEAD.isDirty] = 1;
      else for (const [index, ring] of rings.entries()) fields[index * FIELDS + FIELD.savedHead] = ring.head;
    }
  });
}

/** Takes away the accounts whose every request has left its window; returns their identifiers. */
export function sweepAccounts(memory: AccountMemory, now: number): string[] {
  const swept: string[] = [];
  const isOver = (at: number) => isUnused(ringsAt(memory, at), now);
  for (const at of regionsOf(memory)) {
    const { head, first, second } = viewRegion(memory, at);
    if (first === 0 || !withRegion(memory, at, () => isOver(at))) continue;
    withTable(memory, () => {
      // Nobody spends from it between this look and its end.
      const isGone = withRegion(memory, at, () => {
        if (head[HEAD.first] !== first || !isOver(at)) return false;
        head[HEAD.first] = 0;
        return true;
      });
      if (!isGone) return;
      removeRegion(memory, first, second);
      swept.push(identifierOfWords(first, second));
    });
  }
  return swept;
}
