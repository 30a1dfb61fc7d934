import type { Bench } from './bench.ts';
import { type Load, type LoadOptions, load, type Traffic, typicalAnswer } from './load.ts';
import { brief, median, type Result } from './results.ts';
import { startBare, startOurs, type Target } from './servers.ts';

/** One turn of one side of a comparison; `seed` differs from round to round. */
export type Turn<T> = (turn: { seconds: number; seed: number }) => Promise<T>;

/** Warms each side up, then measures them in turn, round by round, so that other load on the machine affects all alike. */
export async function alternate<T, Name extends string>(
  bench: Bench,
  turns: Record<Name, Turn<T>>,
  { warmsUp = true } = {},
): Promise<Record<Name, T[]>> {
  const names = Object.keys(turns) as Name[];
  const taken = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Record<Name, T[]>;
  const { seconds, rounds } = bench;
  if (warmsUp) for (const name of names) await turns[name]({ seconds: seconds + 1, seed: 1 });
  for (let round = 0; round < rounds; round++) {
    for (const name of names) taken[name].push(await turns[name]({ seconds, seed: round + 2 }));
  }
  return taken;
}

/** One divided by the other, round by round. */
export function ratiosOf(over: readonly number[], under: readonly number[]): number[] {
  return over.map((value, round) => brief(value / (under[round] as number)));
}

const OF_CLIENT = ['perSecond', 'bytesEach', 'p50Ms', 'p99Ms'] as const;
const OF_SERVER = ['cpuMicros', 'cpuShare'] as const;

/** The medians of the loads' figures, each named after its side; the server's only if it had no other load. */
export function figuresOf(loads: Record<string, readonly Load[]>, isAlone = true): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [name, taken] of Object.entries(loads)) {
    for (const figure of isAlone ? [...OF_CLIENT, ...OF_SERVER] : OF_CLIENT) {
      figures[`${name} ${figure}`] = brief(median(taken.map((one) => one[figure])));
    }
  }
  return figures;
}

/** The samples and faults of all these loads together. */
export function checksOf(...loads: readonly (readonly Load[])[]): Pick<Result, 'samples' | 'faults'> {
  const all = loads.flat();
  return { samples: all.reduce((sum, { samples }) => sum + samples, 0), faults: all.flatMap(({ faults }) => faults) };
}

/** A turn that loads a server with this traffic. */
export function loading(
  bench: Bench,
  target: Target,
  what: Traffic,
  options: Pick<LoadOptions, 'spins' | 'isOurs'> = { isOurs: true },
): Turn<Load> {
  return ({ seconds, seed }) => load(bench, target, what, { ...options, seconds, seed });
}

/**
 * Our server's throughput divided by that of a bare one that sends responses of the same size, status and headers. This has no
 * goal: `against.ts` finds what became slower.
 */
export async function againstBare(
  bench: Bench,
  databasePath: string,
  { name, what }: Pick<Result, 'name' | 'what'>,
  trafficOn: (ours: Target) => Traffic | Promise<Traffic>,
  variables: Record<string, string> = {},
): Promise<Result> {
  const ours = await startOurs(bench, databasePath, variables);
  const asked = await trafficOn(ours);
  const bare = await startBare(bench, await typicalAnswer(ours, asked.questions));
  const loads = await alternate(bench, {
    bare: loading(bench, bare, asked, { isOurs: false }),
    ours: loading(bench, ours, asked),
  });
  await Promise.all([ours.stop(), bare.stop()]);
  const { ours: mine, bare: theirs } = loads;
  requireSameSize(mine, theirs);
  const perSecond = (taken: readonly Load[]) => taken.map((one) => one.perSecond);
  return {
    name,
    what,
    goal: null,
    ratios: ratiosOf(perSecond(mine), perSecond(theirs)),
    figures: figuresOf(loads),
    ...checksOf(mine),
  };
}

const MAY_DIFFER = 0.1;

/** Responses of different sizes can't be compared. */
function requireSameSize(ours: readonly Load[], bare: readonly Load[]): void {
  const [mine, theirs] = [ours, bare].map((loads) => median(loads.map(({ bytesEach }) => bytesEach))) as [
    number,
    number,
  ];
  if (Math.abs(mine / theirs - 1) < MAY_DIFFER) return;
  throw new Error(`our responses average ${Math.round(mine)} bytes, those of the bare server ${Math.round(theirs)}`);
}
