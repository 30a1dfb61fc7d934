import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CORE, run } from '../bench.ts';
import { generate } from '../database.ts';
import { formatRequest, load, traffic, typicalAnswer } from '../load.ts';
import { alternate, ratiosOf, type Turn } from '../measure.ts';
import type { OpenLoopJob, OpenLoopReport } from '../open-loop.ts';
import { profileBody } from '../profiles.ts';
import { hotIds, lookup } from '../questions.ts';
import { brief, median, type Result } from '../results.ts';
import { startBare, startOurs, type Target } from '../servers.ts';

/** The factor by which rounds are multiplied: one pause of the machine spoils the percentile of its whole round. */
export const OPEN_LOOP_ROUNDS = 3;

/** The 99th percentile of latency at half of each server's own maximum, compared with that of the bare server. */
export async function latency(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const ids = hotIds(bench.profiles);
  const asked = traffic(
    bench,
    ids.map((id) => lookup(id)),
  );
  const ours = await startOurs(bench, path);
  const answer = await typicalAnswer(ours, asked.questions);
  const bare = await startBare(bench, answer);
  const requests = asked.questions.map(formatRequest);
  const bodies = { ours: ids.map((id) => profileBody(id)), bare: ids.map(() => answer.body) };

  const at = async (target: Target, whose: keyof typeof bodies): Promise<Turn<OpenLoopReport>> => {
    const isOurs = whose === 'ours';
    const maximum = (seed: number) => load(bench, target, asked, { seconds: bench.seconds + 1, seed, isOurs });
    await maximum(1); // Warms up.
    const fastest = await maximum(2);
    const questions = requests.map((request, number) => ({ request, body: bodies[whose][number] as string }));
    const job = { port: target.port, questions, perSecond: fastest.perSecond / 2 };
    return ({ seconds }) => openLoop(bench, { ...job, seconds });
  };
  const more = { ...bench, rounds: OPEN_LOOP_ROUNDS * bench.rounds };
  const reports = await alternate(more, { bare: await at(bare, 'bare'), ours: await at(ours, 'ours') });
  await Promise.all([ours.stop(), bare.stop()]);

  const p99 = (taken: readonly OpenLoopReport[]) => taken.map(({ p99Ms }) => p99Ms);
  const all = [...reports.ours, ...reports.bare];
  return [
    {
      name: 'latency',
      what: 'p99 latency at half of the maximum load, hot ÷ bare',
      goal: { max: 2 },
      ratios: ratiosOf(p99(reports.ours), p99(reports.bare)),
      figures: openLoopFigures(reports),
      samples: all.reduce((sum, { samples }) => sum + samples, 0),
      faults: all.flatMap(({ wrong }) => wrong),
    },
  ];
}

/** The medians of the client's reports on each server's rounds, named after the server. */
export function openLoopFigures(reports: Record<string, readonly OpenLoopReport[]>): Record<string, number> {
  const figures = Object.entries(reports).flatMap(([name, taken]) =>
    (['perSecond', 'p50Ms', 'p99Ms', 'p99LateMs', 'leftOutShare', 'p99WithThemMs'] as const).map((figure) => {
      return [`${name} ${figure}`, brief(median(taken.map((one) => one[figure])))] as const;
    }),
  );
  return Object.fromEntries(figures);
}

/** One round of requests sent on a fixed schedule. Throws if the client fails. */
export async function openLoop(bench: Bench, job: OpenLoopJob): Promise<OpenLoopReport> {
  const file = join(bench.folder, `open-loop-${Bun.randomUUIDv7()}.json`);
  const output = `${file}.txt`;
  writeFileSync(file, JSON.stringify(job));
  await run(bench, [process.execPath, join(import.meta.dir, '../open-loop.ts'), file], { core: CORE.client, output });
  return JSON.parse(readFileSync(output, 'utf8'));
}
