import { describe, expect, test } from 'bun:test';
import { type Approvable, closingResult, decideBegin, MOVES, mayActivate } from '../../../shared/keys/key.ts';

// Every interleaving of several approvers, withdrawals, rejections, revocations, crashes, lost acknowledgements and expired
// leases, on the pure decisions of the product. A step is one transaction or one outcome of the mail server; nothing smaller
// can be observed from outside. The naive variants below show that the check detects mistakes.

/** The progress of an approver; `number` is the attempt that it has begun. */
type Approver =
  | { at: 'idle' }
  | { at: 'mailing' | 'accepted'; number: number; leaseEndsAt: number }
  | { at: 'refused' | 'unknown'; number: number };

type World = {
  key: Approvable;
  /** The attempt whose secret's hash is stored. */
  hash: number | null;
  /** Attempts whose mail the server accepted. */
  delivered: readonly number[];
  /** Attempts whose approver was notified, or would be, that the secret never works. */
  void: readonly number[];
  approvers: Approver[];
  time: number;
};

/** The parts that a naive variant replaces. */
type Protocol = {
  begin: typeof decideBegin;
  mayActivate: typeof mayActivate;
  hashFirst: boolean;
};

const PRODUCT: Protocol = { begin: decideBegin, mayActivate, hashFirst: false };

const MAX = { approvers: 3, attempts: 3, time: 3 } as const;
const LEASE = 1;

function start(): World {
  return {
    key: { state: 'pending', attemptNumber: 0, open: null },
    hash: null,
    delivered: [],
    void: [],
    approvers: Array.from({ length: MAX.approvers }, () => ({ at: 'idle' })),
    time: 0,
  };
}

/** A copy for a step, which replaces an open attempt, an approver and a list of attempts instead of changing them. */
function copyOf(world: World): World {
  return { ...world, key: { ...world.key }, approvers: [...world.approvers] };
}

/** The sorted attempts and one more. */
function including(attempts: readonly number[], one: number): readonly number[] {
  return attempts.includes(one) ? attempts : [...attempts, one].sort();
}

/** All worlds that are one step away. */
function next(world: World, protocol: Protocol): World[] {
  const worlds: World[] = [];
  const step = (change: (copy: World) => void) => {
    const copy = copyOf(world);
    change(copy);
    worlds.push(copy);
  };
  for (const [index, approver] of world.approvers.entries()) {
    const become = (copy: World, now: Approver) => {
      copy.approvers[index] = now;
    };
    if (approver.at === 'idle') {
      const decision = protocol.begin(world.key, world.time);
      if (decision.kind !== 'begin' || decision.number > MAX.attempts) continue;
      const { number } = decision;
      step((copy) => {
        const leaseEndsAt = copy.time + LEASE;
        copy.key.attemptNumber = number;
        copy.key.open = { number, startedAt: copy.time, leaseEndsAt };
        if (protocol.hashFirst) activate(copy, number);
        become(copy, { at: 'mailing', number, leaseEndsAt });
      });
      continue;
    }
    const { number } = approver;
    // A crash at any point: what the process has not written stays unwritten.
    step((copy) => become(copy, { at: 'idle' }));
    if (approver.at === 'mailing') {
      const { leaseEndsAt } = approver;
      step((copy) => {
        copy.delivered = including(copy.delivered, number);
        become(copy, { at: 'accepted', number, leaseEndsAt });
      });
      step((copy) => {
        copy.delivered = including(copy.delivered, number);
        become(copy, { at: 'unknown', number });
      });
      step((copy) => become(copy, { at: 'unknown', number }));
      step((copy) => become(copy, { at: 'refused', number }));
    } else if (approver.at === 'accepted') {
      step((copy) => {
        if (protocol.hashFirst || protocol.mayActivate(copy.key, number)) activate(copy, number);
        else copy.void = including(copy.void, number);
        become(copy, { at: 'idle' });
      });
    } else {
      const outcome = approver.at;
      step((copy) => {
        if (closingResult(copy.key, number, outcome) !== null) copy.key.open = null;
        copy.void = including(copy.void, number);
        become(copy, { at: 'idle' });
      });
    }
  }
  for (const move of ['withdraw', 'reject', 'revoke'] as const) {
    if (!MOVES[move].from.some((from) => from === world.key.state)) continue;
    step((copy) => {
      copy.key = { state: MOVES[move].to, attemptNumber: copy.key.attemptNumber + 1, open: null };
      copy.hash = null;
    });
  }
  if (world.time < MAX.time) {
    step((copy) => {
      copy.time++;
    });
  }
  return worlds;
}

function activate(world: World, number: number): void {
  world.key.state = 'Active';
  world.key.open = null;
  world.hash = number;
}

/** The promise that a world breaks, or null. */
function broken(world: World): string | null {
  const { key, hash, delivered } = world;
  if (key.state === 'Active' && (hash === null || !delivered.includes(hash))) return 'Active without an accepted mail';
  if (key.state !== 'Active' && hash !== null) return 'a secret works though the key is not Active';
  if (hash !== null && world.void.includes(hash)) return 'a secret works that was declared void';
  if (hash !== null && hash !== key.attemptNumber) return 'a secret works that a later mail voids';
  const mailing = world.approvers.filter((approver) => approver.at === 'mailing' && world.time < approver.leaseEndsAt);
  if (mailing.length > 1 && key.state === 'pending') return 'two approvers mail at once';
  return null;
}

const ranks = new WeakMap<Approver, string>();

/** Different for approvers that differ. */
function rankOf(approver: Approver): string {
  const rank = ranks.get(approver) ?? Object.values(approver).join();
  ranks.set(approver, rank);
  return rank;
}

/** Different for worlds that differ. Several times as fast as JSON. */
function nameOf({ key, hash, delivered, void: voided, approvers, time }: World): string {
  const { state, attemptNumber, open } = key;
  const opened = open && `${open.number},${open.startedAt},${open.leaseEndsAt}`;
  const ranked = approvers.map(rankOf).join(';');
  return `${state} ${attemptNumber} ${opened} ${hash} ${delivered.join()} ${voided.join()} ${ranked} ${time}`;
}

/** Breadth first over every reachable world; stops at the first that breaks a promise. */
function explore(protocol: Protocol): { states: number; violation: string | null } {
  const seen = new Set<string>();
  let edge = [start()];
  while (edge.length > 0) {
    const found: World[] = [];
    for (const world of edge) {
      // The order of approvers does not matter.
      world.approvers.sort((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
      const name = nameOf(world);
      if (seen.has(name)) continue;
      seen.add(name);
      const violation = broken(world);
      if (violation !== null) return { states: seen.size, violation };
      found.push(...next(world, protocol));
    }
    edge = found;
  }
  return { states: seen.size, violation: null };
}

describe('in every interleaving of the approval protocol', () => {
  test('no reachable state breaks a promise', () => {
    const { states, violation } = explore(PRODUCT);
    expect(violation).toBeNull();
    expect(states).toBeGreaterThan(10_000);
    process.stderr.write(`approval protocol: ${states} states, no violation\n`);
  });

  const naive: [string, Partial<Protocol>, string][] = [
    ['the hash stored first', { hashFirst: true }, 'Active without an accepted mail'],
    [
      'mail first without a fence',
      { mayActivate: (key) => key.state === 'pending' },
      'a secret works that a later mail voids',
    ],
    ['no lease', { begin: (key, nowMs) => decideBegin({ ...key, open: null }, nowMs) }, 'two approvers mail at once'],
  ];
  for (const [name, change, violation] of naive) {
    test(`the naive variant fails: ${name}`, () => {
      expect(explore({ ...PRODUCT, ...change }).violation).toBe(violation);
    });
  }
});
