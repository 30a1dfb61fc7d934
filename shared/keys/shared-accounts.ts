import {
  type AccountMemory,
  FIELD,
  FIELDS,
  findRegion,
  HEAD,
  NEVER_SAVED,
  putRegion,
  withTable,
} from './account-memory.ts';
import { wordsOfIdentifier } from './account-table.ts';
import { type Account, newAccount } from './quota-account.ts';
import type { RateLimit } from './rate-limit.ts';
import { createRing, type Ring } from './ring.ts';
import { releaseLock, takeLock } from './shared-lock.ts';
import {
  byWindow,
  copyRings,
  fillRegion,
  limitsAt,
  type Region,
  readRings,
  stampsAt,
  viewRegion,
} from './shared-region.ts';

// Accounts in shared memory. A thread holds an account while it counts; its rings are then what the memory says, and are
// written back before it lets go.

/** An account that this thread will find, or make, when it first holds it. */
export function sharedAccount(identifier: string, limits: readonly RateLimit[]): Account {
  const unused = limits.map((limit) => createRing(limit));
  return newAccount(identifier, limits, unused, true);
}

/** Takes hold of an account, waiting for whoever has it. Returns the time of its newest request. Throws `busy`. */
export function holdAccount(memory: AccountMemory, account: Account): number {
  for (;;) {
    account.region ??= seat(memory, account);
    const { head, first, second } = account.region;
    takeLock(head, HEAD.lock, memory.holder, memory.mostNaps);
    if (head[HEAD.first] === first && head[HEAD.second] === second) return readRings(account.region, account.rings);
    // Unused for so long that it was taken away.
    releaseLock(head, HEAD.lock);
    account.region = null;
  }
}

/**
 * Writes down what has left the windows. Before stamps are written: were this thread to end half-way, a stamp that is
 * newer than its place in the ring would count for what it was before.
 */
export function writeTails({ region, rings }: Account): void {
  const { fields, fieldsOf } = region as Region;
  for (let index = 0; index < rings.length; index++) {
    const ring = rings[index] as Ring;
    const at = fieldsOf[index] as number;
    fields[at + FIELD.tail] = ring.tail;
    fields[at + FIELD.head] = ring.head;
  }
}

/** Writes an account's rings back and lets go of it; `isSpent` where it is to be saved. */
export function letGo(account: Account, isSpent: boolean): void {
  const { head, fields, fieldsOf } = account.region as Region;
  writeTails(account);
  for (let index = 0; index < fieldsOf.length; index++) {
    fields[(fieldsOf[index] as number) + FIELD.newestStep] = (account.rings[index] as Ring).newestStep;
  }
  if (isSpent) head[HEAD.isDirty] = 1;
  releaseLock(head, HEAD.lock);
}

/** Finds an account's region or makes it, and lays its rings there. */
function seat(memory: AccountMemory, account: Account): Region {
  const [first, second] = wordsOfIdentifier(account.identifier);
  return withTable(memory, () => {
    const limits = account.limits.toSorted(byWindow);
    const found = findRegion(memory, first, second);
    const isSame = found !== 0 && isFor(memory, found, limits);
    const at = isSame
      ? found
      : putRegion(memory, [first, second], limits, (at) => {
          fillRegion(memory, at, limits, found === 0 ? [] : copyRings(memory, found), NEVER_SAVED);
        });
    const region = viewRegion(memory, at);
    const fieldsOf = account.limits.map((limit) => limits.indexOf(limit) * FIELDS);
    account.rings = account.limits.map((limit, index) =>
      createRing(limit, stampsAt(memory, at, limits, (fieldsOf[index] as number) / FIELDS)),
    );
    return { ...region, fieldsOf };
  });
}

function isFor(memory: AccountMemory, at: number, limits: readonly RateLimit[]): boolean {
  const known = limitsAt(memory, at);
  return (
    known.length === limits.length &&
    known.every(({ quota, windowSeconds }, index) => {
      const limit = limits[index] as RateLimit;
      return quota === limit.quota && windowSeconds === limit.windowSeconds;
    })
  );
}
