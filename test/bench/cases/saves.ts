import { mkdirSync } from 'node:fs';
import { quotaPath } from '../../../shared/limits/file/store.ts';
import type { Bench } from '../bench.ts';
import { copyOf, type Generated, generate, workingKeys } from '../database.ts';
import { formatRequest, load, type Question, traffic } from '../load.ts';
import { alternate, ratiosOf } from '../measure.ts';
import type { OpenLoopJob, OpenLoopReport } from '../open-loop.ts';
import { profileBody } from '../profiles.ts';
import { bearer, hotIds, lookup } from '../questions.ts';
import { countText, type Result } from '../results.ts';
import { startOurs, type Target } from '../servers.ts';
import { OPEN_LOOP_ROUNDS, openLoop, openLoopFigures } from './latency.ts';

/** The load, as a share of the server's own maximum. */
const SHARE = 0.5;

/** The number of keys in use at once, which each save writes. */
const KEYS = [1, 500];

/** The 99th percentile of latency while quotas are saved, compared with a server that can't save them. */
export async function besideSaves(bench: Bench): Promise<Result[]> {
  const generated = await generate(bench);
  const saving = await startOurs(bench, copyOf(bench, generated));
  const still = await startOurs(bench, withoutQuotaFile(bench, generated));
  const results: Result[] = [];
  for (const keys of KEYS) results.push(await compare(bench, saving, still, keys));
  await Promise.all([saving.stop(), still.stop()]);
  return results;
}

/** A copy of the database with a folder in place of the quota file. */
function withoutQuotaFile(bench: Bench, generated: Generated): string {
  const path = copyOf(bench, generated);
  mkdirSync(quotaPath(path));
  return path;
}

async function compare(bench: Bench, saving: Target, still: Target, keys: number): Promise<Result> {
  const ids = hotIds(bench.profiles);
  const used = workingKeys(bench.profiles).slice(0, keys);
  const asked: Question[] = ids.map((id, at) => lookup(id, bearer(used[at % keys])));
  const fastest = await load(bench, saving, traffic(bench, asked), {
    seconds: bench.seconds + 1,
    seed: 1,
    isOurs: true,
  });
  const questions = asked.map((question, at) => ({
    request: formatRequest(question),
    body: profileBody(ids[at] as number),
  }));
  const job: Omit<OpenLoopJob, 'port' | 'seconds'> = { questions, perSecond: fastest.perSecond * SHARE };
  const more = { ...bench, rounds: OPEN_LOOP_ROUNDS * bench.rounds };
  const reports = await alternate(more, {
    still: ({ seconds }) => openLoop(bench, { ...job, port: still.port, seconds }),
    saving: ({ seconds }) => openLoop(bench, { ...job, port: saving.port, seconds }),
  });
  const p99 = (taken: readonly OpenLoopReport[]) => taken.map(({ p99Ms }) => p99Ms);
  const all = [...reports.saving, ...reports.still];
  return {
    name: `saves-${keys}`,
    what: `p99 latency at half of the maximum load by ${countText(keys)} ${keys === 1 ? 'key' : 'keys'}, quotas saved ÷ not saved`,
    goal: { max: 1.2 },
    ratios: ratiosOf(p99(reports.saving), p99(reports.still)),
    figures: openLoopFigures(reports),
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
    faults: all.flatMap(({ wrong }) => wrong),
  };
}
