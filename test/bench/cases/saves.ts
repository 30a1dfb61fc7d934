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

/** The load, as a share of the maximum of the server that saves. */
const SHARE = 0.5;

/** The number of keys in use at once, which each save writes. */
const KEYS = [1, 500];

/** The 99th percentile of latency while quotas are saved, compared with a server that can't save them. */
export async function whileSaving(bench: Bench): Promise<Result[]> {
  const generated = await generate(bench);
  const saving = await startOurs(bench, copyOf(bench, generated));
  const notSaving = await startOurs(bench, withoutQuotaFile(bench, generated));
  const results: Result[] = [];
  for (const keys of KEYS) results.push(await compare(bench, saving, notSaving, keys));
  await Promise.all([saving.stop(), notSaving.stop()]);
  return results;
}

/** A copy of the database with a folder at the path of the quota file, so that the server can’t save quotas. */
function withoutQuotaFile(bench: Bench, generated: Generated): string {
  const path = copyOf(bench, generated);
  mkdirSync(quotaPath(path));
  return path;
}

async function compare(bench: Bench, saving: Target, notSaving: Target, keys: number): Promise<Result> {
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
    notSaving: ({ seconds }) => openLoop(bench, { ...job, port: notSaving.port, seconds }),
    saving: ({ seconds }) => openLoop(bench, { ...job, port: saving.port, seconds }),
  });
  const p99 = (reports: readonly OpenLoopReport[]) => reports.map(({ p99Ms }) => p99Ms);
  const all = [...reports.saving, ...reports.notSaving];
  return {
    name: `saves-${keys}`,
    what: `p99 latency at half of the maximum load by ${countText(keys)} ${keys === 1 ? 'key' : 'keys'}, quotas saved ÷ not saved`,
    goal: { max: 1.2 },
    ratios: ratiosOf(p99(reports.saving), p99(reports.notSaving)),
    figures: openLoopFigures(reports),
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
    faults: all.flatMap(({ wrong }) => wrong),
  };
}
