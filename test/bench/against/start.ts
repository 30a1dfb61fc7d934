import type { Bench } from '../bench.ts';
import { firstAnswer } from '../cases/commands.ts';
import { alternate } from '../measure.ts';
import { lookup } from '../questions.ts';
import { median } from '../results.ts';
import { type Pair, printRatio, type Side } from './servers.ts';

/** A start takes only milliseconds, so a round is the median of several; only a few, because each stop takes a second. */
const STARTS = 3;

/** Milliseconds from the start of the server to its first response. */
export async function startAgainst(bench: Bench, sides: Pair<Side>): Promise<void> {
  const measure = ({ binary, variables }: Side) => {
    const { PORT: _, ...environment } = variables;
    return async () => {
      const times: number[] = [];
      while (times.length < STARTS) {
        times.push(await firstAnswer(bench, [binary, 'serve'], lookup(1), environment));
      }
      return median(times);
    };
  };
  const { mine, theirs } = await alternate(bench, {
    mine: measure(sides.mine),
    theirs: measure(sides.theirs),
  });
  printRatio('start', mine, theirs, 'ms');
}
