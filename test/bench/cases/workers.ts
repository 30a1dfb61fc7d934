import { type Bench, CORE } from '../bench.ts';
import { generate } from '../database.ts';
import { load, traffic } from '../load.ts';
import { alternate, checksOf, figuresOf, ratiosOf } from '../measure.ts';
import { anyId, LOOKUP_OF_NAME, lookup, many } from '../questions.ts';
import type { Result } from '../results.ts';
import { startOurs } from '../servers.ts';

/** Two workers compared with one, on both cores shared with the client: the gain of the second. */
export async function workers(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const asked = traffic(
    bench,
    many(10_000, () => lookup(anyId(bench.profiles))),
    { names: LOOKUP_OF_NAME },
  );
  // One server per database: each turn starts its own, lets it warm up, and stops it.
  const withWorkers =
    (count: number) =>
    async ({ seconds, seed }: { seconds: number; seed: number }) => {
      const ours = await startOurs(bench, path, { WORKERS: String(count) }, CORE.any);
      const options = { isOurs: true, core: CORE.any };
      await load(bench, ours, asked, { ...options, seconds: seconds + 1, seed: seed + 1000 });
      const measured = await load(bench, ours, asked, { ...options, seconds, seed });
      await ours.stop();
      return measured;
    };
  const loads = await alternate(bench, { two: withWorkers(2), one: withWorkers(1) }, { warmsUp: false });
  const [two, one] = [loads.two, loads.one].map((taken) => taken.map(({ perSecond }) => perSecond));
  return [
    {
      name: 'workers',
      what: 'uniform lookups with WORKERS=2 ÷ with one, client on the same two cores',
      goal: { min: 1.2 },
      ratios: ratiosOf(two as number[], one as number[]),
      figures: figuresOf(loads),
      ...checksOf(loads.two, loads.one),
    },
  ];
}
