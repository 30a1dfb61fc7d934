import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { isoTime } from '../../../shared/clock.ts';
import type { KeyState } from '../../../shared/db/schema.ts';
import type { Deps } from '../../../shared/deps.ts';
import { AppError } from '../../../shared/errors.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { hasSecret } from '../../../shared/keys/key.ts';
import { changeKey, editKey, moveAndNotify } from '../../../shared/keys/life.ts';
import type { Verifier } from '../../../shared/keys/verify.ts';
import { type HistoryView, keyHistory, showKey } from '../../../shared/keys/view.ts';
import type { Delivery } from '../../../shared/mail/send.ts';
import { approveKey, moveByAdmin, request } from '../../support/keys.ts';
import { changeByHand, insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { readingOf } from '../../support/storage.ts';
import { onBox, testClock, testDeps } from '../../support/world.ts';

// Random lives of keys with several simultaneous actors, compared with a small model. The mail of an approval stays
// in flight until a later step decides its outcome, so that anything can happen in between; a crash forgets it, and a
// restart forgets all.

const clock = testClock();
const base = testDeps({ clock, approvalLeaseMs: 120_000 });
let nextProfile = 1;

type Outcome = 'accepted' | 'refused' | 'lost before' | 'lost after' | 'crash';

/** The model of a key. */
type ModelKey = {
  identifier: string;
  profile: string;
  state: KeyState;
  fence: number;
  openUntilMs: number | null;
  expiresAtMs: number | null;
  successorOf: ModelKey | null;
  /** The number of the attempt whose secret works. */
  working: number | null;
  history: HistoryView[];
};

/** An approval whose mail is in flight. */
type InFlight = {
  key: ModelKey;
  number: number;
  secret: string;
  retireOldAtMs: number | null;
  land: (delivery: Delivery) => void;
  done: Promise<AppError | string>;
};

type World = {
  deps: Deps;
  verify: Verifier;
  keys: ModelKey[];
  inFlight: InFlight[];
  mailed: { key: ModelKey; number: number; secret: string }[];
  /** Names of banned profiles. */
  banned: Set<string>;
};

const VERBS = ['reject', 'withdraw', 'suspend', 'resume', 'revoke', 'edit'] as const;

type Verb = (typeof VERBS)[number];

const pick = fc.nat(1000);
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('request' as const), which: pick }) },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('begin' as const),
        which: pick,
        expires: fc.boolean(),
        retires: fc.boolean(),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('succeed' as const), which: pick }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('change' as const),
        which: pick,
        ms: fc.constantFrom(null, -1, 0, 1, 150_000, 500_000),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('land' as const),
        which: pick,
        outcome: fc.constantFrom<Outcome>('accepted', 'accepted', 'refused', 'lost before', 'lost after', 'crash'),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constantFrom(...VERBS), which: pick }) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, 59_999, 120_000, 400_000) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('ban' as const), which: pick, isBanned: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  ),
  { minLength: 20, maxLength: 60, size: 'max' },
);

type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never;

test('all promises hold after every step, in any order of steps', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const { verify } = readingOf(base);
      const world: World = { deps: base, verify, keys: [], inFlight: [], mailed: [], banned: new Set() };
      const profiles = [0, 1].map(() => {
        insertProfile(base.db, { id: nextProfile });
        return `user${nextProfile++}`;
      });
      for (const step of sequence) {
        await playStep(world, step as Step, profiles);
        checkPromises(world, profiles);
        count++;
      }
    }),
    { numRuns: rounds(15) },
  );
  process.stderr.write(`lives of keys: ${count} steps, no promise broken\n`);
}, 120_000);

async function playStep(world: World, step: Step, profiles: string[]): Promise<void> {
  if (step.do === 'wait') {
    clock.advance(step.ms);
    for (const key of world.keys) expireInModel(key);
    return;
  }
  if (step.do === 'restart') {
    if (world.deps !== base) world.deps.db.$client.close();
    world.deps = { ...base, db: openDatabase(base.config.databasePath, 'use') };
    world.inFlight = [];
    return;
  }
  if (step.do === 'ban') return playBan(world, profiles[step.which % 2] as string, step.isBanned);
  if (step.do === 'request') return playRequest(world, profiles[step.which % 2] as string);
  if (step.do === 'land') return playLanding(world, step.which, step.outcome);
  const key = world.keys[step.which % Math.max(1, world.keys.length)];
  if (key === undefined) return;
  if (step.do === 'begin') return playApproval(world, key, step.expires, step.retires);
  if (step.do === 'succeed') return playRequest(world, key.profile, key);
  if (step.do === 'change') return playChange(world, key, step.ms);
  return playMove(world, key, step.do as Verb);
}

/** Requests a key of a profile, or a replacement for one of its keys. */
async function playRequest(world: World, profile: string, successorOf: ModelKey | null = null): Promise<void> {
  const taken = world.keys.filter((key) => key.profile === profile && holdsSlot(key.state)).length;
  const fields = { profile, ...(successorOf && { successorOf: successorOf.identifier }) };
  const identifier = await outcomeOf(request(world.deps, fields));
  if (world.banned.has(profile) || taken >= 3 || (successorOf !== null && successorOf.state !== 'Active'))
    return void expect(identifier).toMatchObject({ code: 'refused' });
  expect(identifier).toBeString();
  const fresh = {
    state: 'pending',
    fence: 0,
    openUntilMs: null,
    expiresAtMs: null,
    working: null,
    history: [],
  } as const;
  world.keys.push({ ...fresh, identifier: identifier as string, profile, successorOf, history: [] });
}

async function playApproval(world: World, key: ModelKey, expires: boolean, retires: boolean): Promise<void> {
  const landed = Promise.withResolvers<Delivery>();
  const sent = Promise.withResolvers<string>();
  const mailer = async () => ({
    send: async (mail: { text: string }) => {
      sent.resolve(/plk_\w+/.exec(mail.text)?.[0] ?? '');
      return await landed.promise;
    },
  });
  const expiresAtMs = expires ? clock.nowMs() + 300_000 : null;
  const retireOldAtMs = retires && key.successorOf !== null ? clock.nowMs() + 200_000 : null;
  const grant = { expiresAtMs, retireOldAtMs };
  const done = outcomeOf(
    approveKey({ ...world.deps, mailer }, { identifier: key.identifier, grant, by: onBox('admin') }),
  );
  const first = await Promise.race([done, sent.promise]);
  const isTaken = key.openUntilMs !== null && clock.nowMs() < key.openUntilMs;
  if (key.state !== 'pending' || world.banned.has(key.profile)) {
    return void expect(first).toMatchObject({ code: 'refused' });
  }
  if (isTaken) return void expect(first).toMatchObject({ code: 'try_later' });
  expect(first).toStartWith(`plk_${key.identifier}_`);
  key.fence++;
  key.openUntilMs = clock.nowMs() + 120_000;
  key.expiresAtMs = expiresAtMs;
  world.inFlight.push({
    key,
    number: key.fence,
    secret: first as string,
    retireOldAtMs,
    land: landed.resolve,
    done: done as InFlight['done'],
  });
}

async function playLanding(world: World, which: number, outcome: Outcome): Promise<void> {
  const [flight] = world.inFlight.splice(which % Math.max(1, world.inFlight.length), 1);
  if (flight === undefined || outcome === 'crash') return;
  const { key, number, secret, retireOldAtMs, land, done } = flight;
  if (outcome === 'accepted' || outcome === 'lost after') world.mailed.push({ key, number, secret });
  if (outcome === 'accepted') land({ outcome });
  else if (outcome === 'refused') land({ outcome, permanent: true, reason: 'No.' });
  else land({ outcome: 'unknown', reason: 'Lost.' });
  const error = await done;
  const stillOurs = key.fence === number && key.state === 'pending';
  if (outcome === 'accepted' && stillOurs) {
    expect(error).not.toBeInstanceOf(AppError);
    key.state = 'Active';
    key.working = number;
    if (retireOldAtMs !== null) retireInModel(key.successorOf, retireOldAtMs);
  } else {
    const isFinal = outcome === 'accepted' || outcome === 'refused' || !stillOurs;
    expect(error).toMatchObject({ code: isFinal ? 'refused' : 'try_later' });
  }
  if (stillOurs) key.openUntilMs = null;
  expireInModel(key);
}

/** Bans a profile or lifts its ban. A ban voids approvals in progress, crashed ones too. */
function playBan(world: World, profile: string, isBanned: boolean): void {
  changeByHand(world.deps, profile, { banned: isBanned });
  if (isBanned === world.banned.has(profile)) return;
  if (isBanned) world.banned.add(profile);
  else world.banned.delete(profile);
  for (const key of world.keys) {
    if (key.profile !== profile || key.openUntilMs === null) continue;
    key.fence++;
    key.openUntilMs = null;
  }
}

async function playMove(world: World, key: ModelKey, verb: Verb): Promise<void> {
  const { identifier } = key;
  const { deps } = world;
  const silent = { ...deps, mailer: async () => null };
  const act: Record<Verb, () => Promise<unknown>> = {
    reject: async () => moveAndNotify(silent, 'reject', { identifier, reason: 'No.', by: onBox('admin') }),
    withdraw: async () => moveAndNotify(silent, 'withdraw', { identifier, by: onBox('owner') }),
    suspend: async () => moveByAdmin(silent, identifier, 'suspend'),
    resume: async () => moveByAdmin(silent, identifier, 'resume'),
    revoke: async () => moveAndNotify(silent, 'revoke', { identifier, reason: 'Leaked.', by: onBox('admin') }),
    edit: async () => editKey(silent, { identifier, name: 'Renamed', by: onBox('owner') }),
  };
  const needs: Record<Verb, KeyState[]> = {
    reject: ['pending'],
    withdraw: ['pending'],
    suspend: ['Active'],
    resume: ['suspended'],
    revoke: ['Active', 'suspended'],
    edit: [key.state],
  };
  const result = await outcomeOf(act[verb]());
  if (!needs[verb].includes(key.state)) return void expect(result).toMatchObject({ code: 'refused' });
  expect(result).not.toBeInstanceOf(AppError);
  if (verb === 'edit') return;
  if (verb === 'suspend' || verb === 'resume') {
    key.state = verb === 'suspend' ? 'suspended' : 'Active';
    return;
  }
  key.state = ({ reject: 'rejected', withdraw: 'withdrawn', revoke: 'revoked' } as const)[verb];
  key.fence++;
  key.working = null;
  key.openUntilMs = null;
}

/** Sets a key to expire `ms` milliseconds from now, or never. */
async function playChange(world: World, key: ModelKey, ms: number | null): Promise<void> {
  const { identifier } = key;
  const expiresAtMs = ms === null ? null : clock.nowMs() + ms;
  const input = { identifier, change: { expiresAtMs }, by: onBox('admin') };
  const result = await outcomeOf((async () => changeKey(world.deps, input))());
  if (!isLive(key)) return void expect(result).toMatchObject({ code: 'refused' });
  if (ms !== null && ms <= 0) return void expect(result).toMatchObject({ code: 'usage' });
  expect(result).not.toBeInstanceOf(AppError);
  key.expiresAtMs = expiresAtMs;
}

function retireInModel(key: ModelKey | null, atMs: number): void {
  if (key === null || !isLive(key)) return;
  key.expiresAtMs = Math.min(key.expiresAtMs ?? atMs, atMs);
  expireInModel(key);
}

function expireInModel(key: ModelKey): void {
  if (!isLive(key) || key.expiresAtMs === null || clock.nowMs() < key.expiresAtMs) return;
  key.state = 'expired';
  key.working = null;
}

async function outcomeOf<T>(act: Promise<T>): Promise<T | AppError> {
  try {
    return await act;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Written here again, so that the model does not rely on the code under test. */
const holdsSlot = (state: KeyState) => ['pending', 'Active', 'suspended'].includes(state);

function isLive({ state }: ModelKey): boolean {
  return state === 'Active' || state === 'suspended';
}

const LEGAL = [
  '→pending',
  'pending→Active',
  'pending→rejected',
  'pending→withdrawn',
  'Active→suspended',
  'suspended→Active',
  'suspended→revoked',
  'Active→revoked',
];

function checkPromises(world: World, profiles: string[]): void {
  const { verify } = world;
  for (const key of world.keys) {
    const shown = showKey(world.deps, key.identifier);
    expect([key.identifier, shown.state]).toEqual([key.identifier, key.state]);
    expect(shown.successorOf).toBe(key.successorOf?.identifier ?? null);
    if (key.working !== null && key.expiresAtMs !== null) expect(shown.expiresAt).toBe(isoTime(key.expiresAtMs));
    if (isLive(key)) expect(shown.attempt?.result).toBe('accepted');
    const history = keyHistory(world.deps, key.identifier);
    expect(history.slice(0, key.history.length)).toEqual(key.history);
    key.history = history;
    for (const { from, to } of history) if (from !== to) expect(LEGAL).toContain(`${from ?? ''}→${to}`);
    if (shown.state !== 'expired') expect(history.at(-1)?.to).toBe(shown.state);
    const isRefused = world.banned.has(key.profile);
    expect(shown.refusedFor).toBe(isRefused && hasSecret(key.state) ? 'ban' : null);
    const works = world.mailed.filter((mail) => mail.key === key && verify(mail.secret) !== null);
    expect(works.map((mail) => mail.number)).toEqual(
      key.working === null || isRefused || key.state !== 'Active' ? [] : [key.working],
    );
  }
  for (const profile of profiles) {
    const holders = world.keys.filter((key) => key.profile === profile && holdsSlot(key.state));
    expect(holders.length).toBeLessThanOrEqual(3);
  }
}
