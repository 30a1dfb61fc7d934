import { type Acknowledged, ask, command } from './load.ts';
import type { Machine } from './machine.ts';

/** The answered requests over all cuts that are not counted, and how many of them may be missing. */
export type Forgotten = { requests: number; allowed: number };

/** Quota counts of this long before a power cut may be lost. */
const MAY_FORGET_MS = 2_000;

/** The states of keys in the order of their lives. */
const ORDER = ['pending', 'Active', 'revoked'];

/** A sentence for everything that was acknowledged and is missing, or that breaks a promise. */
export async function findLosses(machine: Machine, acked: Acknowledged): Promise<string[]> {
  return [
    ...((await command(machine, 'db check')) === null ? ['db check finds faults'] : []),
    ...(await lostProfiles(machine, acked)),
    ...(await lostSteps(machine, acked)),
    ...(await wrongSecrets(machine, acked)),
  ];
}

async function lostProfiles(machine: Machine, acked: Acknowledged): Promise<string[]> {
  const lines = (await command(machine, 'profiles export'))?.split('\n').filter(Boolean) ?? [];
  const there = new Set(lines.map((line) => (JSON.parse(line) as { username: string }).username));
  return acked.profiles.filter((name) => !there.has(name)).map((name) => `the imported profile ${name} is gone`);
}

async function lostSteps(machine: Machine, acked: Acknowledged): Promise<string[]> {
  const states = await readStates(machine);
  return [...acked.keys].flatMap(([identifier, { begun, acknowledged }]) => {
    const found = ORDER.indexOf(states.get(identifier) ?? 'gone');
    if (found >= ORDER.indexOf(acknowledged ?? '') && found <= ORDER.indexOf(begun)) return [];
    return [`key ${identifier} is ${states.get(identifier) ?? 'gone'}, was acknowledged as ${acknowledged}`];
  });
}

async function readStates(machine: Machine): Promise<Map<string, string>> {
  const text = await command(machine, 'keys list --json');
  const { keys } = JSON.parse(text ?? '{"keys":[]}') as { keys: { identifier: string; state: string }[] };
  return new Map(keys.map(({ identifier, state }) => [identifier, state]));
}

/** Tries every mailed secret: one works if its key is Active, none otherwise. */
async function wrongSecrets(machine: Machine, acked: Acknowledged): Promise<string[]> {
  const states = await readStates(machine);
  const working = new Map<string, number>();
  for (const secret of acked.secrets) {
    const identifier = secret.slice(4, 12);
    const status = await ask(machine, '/api/key', secret);
    if (status !== 200 && status !== 401) return [`a secret got ${status}`];
    working.set(identifier, (working.get(identifier) ?? 0) + (status === 200 ? 1 : 0));
  }
  return [...working].flatMap(([identifier, count]) =>
    count === (states.get(identifier) === 'Active' ? 1 : 0) ? [] : [`${count} secrets of key ${identifier} work`],
  );
}

/** Approves keys that a cut left pending after their mail was sent; their secrets have to be tried again. */
export async function approveAgain(machine: Machine, acked: Acknowledged): Promise<number> {
  const states = await readStates(machine);
  const mailed = new Set([...acked.secrets].map((secret) => secret.slice(4, 12)));
  let approved = 0;
  for (const identifier of mailed) {
    if (states.get(identifier) !== 'pending') continue;
    // Refused while the attempt that the cut ended has its lease, which depends on the machine's clock.
    if ((await command(machine, `keys approve ${identifier} --yes`)) === null) continue;
    acked.keys.set(identifier, { begun: 'Active', acknowledged: 'Active' });
    approved++;
  }
  return approved;
}

/** Compares the answered requests with the counted ones. `cutsAtMs` are the times of all cuts, by `performance.now`. */
export async function findForgotten(
  machine: Machine,
  { answeredAtMs }: Acknowledged,
  secret: string,
  cutsAtMs: readonly number[],
): Promise<Forgotten> {
  let spent = 0;
  await ask(machine, '/api/key', secret, (text) => {
    const [limit] = (JSON.parse(text) as { rateLimits: { quota: number; remaining: number }[] }).rateLimits;
    spent = limit === undefined ? 0 : limit.quota - limit.remaining;
  });
  const isJustBefore = (at: number, cut: number) => at > cut - MAY_FORGET_MS && at <= cut;
  const allowed = answeredAtMs.filter((at) => cutsAtMs.some((cut) => isJustBefore(at, cut))).length;
  return { requests: answeredAtMs.length - spent, allowed };
}
