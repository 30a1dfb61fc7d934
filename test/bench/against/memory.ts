import type { Bench } from '../bench.ts';
import { memoryOf } from '../cases/memory.ts';
import { ask, type Traffic } from '../load.ts';
import { alternate, loading } from '../measure.ts';
import { lookup } from '../questions.ts';
import type { Pair, Side } from './servers.ts';
import { printRatio } from './servers.ts';

const SETTLED_MS = 1_000;

type Sizes = Record<'memory-start' | 'memory-first-page' | 'memory-load', number>;

/** Resident memory (MiB) after a server's first lookup, its first page, and a round of load without a page. */
export async function memoryAgainst(bench: Bench, sides: Pair<Side>, asked: Traffic): Promise<void> {
  const measure =
    (side: Side) =>
    async (turn: { seconds: number; seed: number }): Promise<Sizes> => {
      const visited = await side.start();
      await ask(visited, lookup(1));
      const atStart = await settledSize(visited.pid);
      const { status } = await ask(visited, { path: '/developers', headers: {}, isRight: () => true });
      if (status !== 200) throw new Error(`/developers returned ${status}`);
      const atPage = await settledSize(visited.pid);
      await visited.stop();
      const loaded = await side.start();
      await loading(bench, loaded, asked)(turn);
      const underLoad = await settledSize(loaded.pid);
      await loaded.stop();
      return { 'memory-start': atStart, 'memory-first-page': atPage, 'memory-load': underLoad };
    };
  const turns = { mine: measure(sides.mine), theirs: measure(sides.theirs) };
  const { mine, theirs } = await alternate(bench, turns, { warmsUp: false });
  for (const name of Object.keys(mine[0] ?? {}) as (keyof Sizes)[]) {
    const [over, under] = [mine, theirs].map((sizes) => sizes.map((one) => one[name])) as [number[], number[]];
    printRatio(name, over, under, 'MiB');
  }
}

async function settledSize(pid: number): Promise<number> {
  await Bun.sleep(SETTLED_MS);
  return memoryOf(pid).VmRSS;
}
