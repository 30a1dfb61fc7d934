import type { QuotaStore } from '../db/quota-store.ts';
import { isUnused, newAccount } from './quota-account.ts';
import type { Ledger, Unfolded } from './quota-ledger.ts';
import { readLog } from './quota-log.ts';
import type { Ring } from './ring.ts';
import { firstUnfolded, isPage, restoreRing } from './ring-pages.ts';
import { putAccount } from './shared-keeping.ts';

// How a ledger comes back after the process.

/** Brings in what an earlier run has left. */
export function takeOver(ledger: Ledger, { stored, setAside }: QuotaStore): void {
  if (setAside !== null)
    ledger.report('warn', `The quota file was unreadable and is now ${setAside}; quotas are full.`);
  const now = ledger.now();
  const pages = Map.groupBy(stored.rows.filter(isPage), (row) => row.identifier);
  const log = readLog(stored.log);
  ledger.seq = stored.log.at(-1)?.seq ?? 0;
  const unfolded: [identifier: string, Unfolded][] = [];
  for (const identifier of new Set([...pages.keys(), ...log.keys()])) {
    const byWindow = Map.groupBy(pages.get(identifier) ?? [], (page) => page.windowSeconds);
    const logs = log.get(identifier) ?? [];
    const windows = new Set([...byWindow.keys(), ...logs.map((of) => of.windowSeconds)]);
    const rings = [...windows].map((window) => {
      const ringLog = logs.find((of) => of.windowSeconds === window);
      return restoreRing(byWindow.get(window) ?? [], ringLog, now);
    });
    const seq = Math.min(...logs.map((of) => firstUnfolded(byWindow.get(of.windowSeconds) ?? [], of)));
    // Which ring has which place is only known once the key is used: all of each is written then.
    if (Number.isFinite(seq)) unfolded.push([identifier, { seq, heads: rings.map(() => 0) }]);
    bringIn(ledger, identifier, rings, now);
  }
  for (const [identifier, of] of unfolded.sort(([, one], [, other]) => one.seq - other.seq))
    ledger.unfolded.set(identifier, of);
  stored.rows.length = 0;
  stored.log.length = 0;
}

/** Tries again what had to wait. */
export function bringInLate(ledger: Ledger, now: number): void {
  for (const [identifier, rings] of ledger.late) {
    ledger.late.delete(identifier);
    bringIn(ledger, identifier, rings, now);
    // Whoever holds the memory holds it from the others too.
    if (ledger.late.has(identifier)) return;
  }
}

function bringIn(ledger: Ledger, identifier: string, rings: Ring[], now: number): void {
  const outcome = isUnused(rings, now) ? 'void' : seat(ledger, identifier, rings);
  if (outcome === 'void') ledger.forgotten.add(identifier);
  else ledger.forgotten.delete(identifier);
  if (outcome === 'held') ledger.late.set(identifier, rings);
}

/** Void is what finds such an account already: what this run has counted stands, where the file could only be opened later. */
function seat(ledger: Ledger, identifier: string, rings: Ring[]): 'seated' | 'held' | 'void' {
  if (ledger.memory !== null) {
    try {
      return putAccount(ledger.memory, identifier, rings);
    } catch (error) {
      ledger.report('error', `What key ${identifier} has used is forgotten, for want of memory.`, error);
      return 'void';
    }
  }
  if (ledger.accounts.has(identifier)) return 'void';
  const limits = rings.map(({ quota, windowMs }) => ({ quota, windowSeconds: windowMs / 1000 }));
  ledger.accounts.set(identifier, newAccount(identifier, limits, rings, false));
  return 'seated';
}
