import type { Bench } from '../bench.ts';
import { copyOf, generate } from '../database.ts';
import { formatRequest, load, traffic } from '../load.ts';
import { alternate, ratiosOf, type Turn } from '../measure.ts';
import type { OpenLoopReport } from '../open-loop.ts';
import { profileBody } from '../profiles.ts';
import { hotIds, lookup } from '../questions.ts';
import { brief, intervalFigures, median, type Result } from '../results.ts';
import { openLoop, openLoopFigures } from './latency.ts';
import type { VisitorsReport } from './visitors.ts';
import { ACTIONS_PER_SECOND, ownersWithoutKeys, startForVisitors, VISITS_PER_SECOND, visit } from './visits.ts';

/** The fewest lookups measured in a round. Half as many again are sent, because the first 30% only warm up. */
const MIN_LOOKUPS = 200_000;
const WARM_UP = 1.5;

/** The share of wrk's throughput. A single lookup costs twice as much as in wrk's batches, so this is half load. */
const SHARE_OF_MAXIMUM = 0.25;

/** Visits that warm the pages up, so that hardly any of their functions still needs compiling. */
const WARMING_VISITS = 200;

/**
 * The 99th percentile of latency of hot lookups that keep a server half busy, while owners sign in and request keys
 * and an admin decides on them, compared with the lookups alone. Each visit does the work of a real one: pages,
 * forms, mails written to files, and a passkey's signature. Visitors share the client's core with the load generator,
 * at a lower priority.
 */
export async function platformBeside(bench: Bench): Promise<Result[]> {
  const database = copyOf(bench, await generate(bench));
  const ids = hotIds(bench.profiles);
  const asked = traffic(
    bench,
    ids.map((id) => lookup(id)),
  );
  const { ours, settings } = await startForVisitors(bench, database);
  const maximum = (seed: number) => load(bench, ours, asked, { seconds: bench.seconds + 1, seed, isOurs: true });
  await maximum(1); // Warms up.
  const perSecond = (await maximum(2)).perSecond * SHARE_OF_MAXIMUM;
  const seconds = Math.max(bench.seconds, Math.ceil((MIN_LOOKUPS * WARM_UP) / perSecond));
  const questions = asked.questions.map((question, at) => ({
    request: formatRequest(question),
    body: profileBody(ids[at] as number),
  }));
  const measure = () => openLoop(bench, { port: ours.port, questions, perSecond, seconds });

  const owners = ownersWithoutKeys(bench);
  await visit(bench, settings, owners.splice(0, WARMING_VISITS));
  const visits: VisitorsReport[] = [];
  const beside: Turn<OpenLoopReport> = async () => {
    const some = owners.splice(0, VISITS_PER_SECOND * seconds);
    const [report, visited] = await Promise.all([measure(), visit(bench, settings, some)]);
    visits.push(visited);
    return report;
  };
  const reports = await alternate(bench, { alone: measure, beside }, { warmsUp: false });
  await ours.stop();
  return [resultOf(reports, visits)];
}

function resultOf(reports: Record<'alone' | 'beside', OpenLoopReport[]>, visits: readonly VisitorsReport[]): Result {
  const p99 = (taken: readonly OpenLoopReport[]) => taken.map(({ p99Ms }) => p99Ms);
  const withThem = (taken: readonly OpenLoopReport[]) => taken.map(({ p99WithThemMs }) => p99WithThemMs);
  const ratios = ratiosOf(p99(reports.beside), p99(reports.alone));
  const ofVisits = {
    'visits a second': brief(median(visits.map(({ perSecond }) => perSecond))),
    'visit p50Ms': brief(median(visits.map(({ p50Ms }) => p50Ms))),
  };
  const all = [...reports.alone, ...reports.beside];
  return {
    name: 'platform-beside',
    what: `p99 latency of lookups beside ${ACTIONS_PER_SECOND} sign-ins, requests and decisions a second ÷ alone`,
    goal: { max: 1.5 },
    ratios,
    figures: {
      ...openLoopFigures(reports),
      'ratio with those left out': brief(median(ratiosOf(withThem(reports.beside), withThem(reports.alone)))),
      ...ofVisits,
      ...intervalFigures(ratios),
    },
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
    faults: [...all.flatMap(({ wrong }) => wrong), ...visits.flatMap(({ faults }) => faults)],
  };
}
