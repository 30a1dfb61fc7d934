import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bench, CORE, run } from './bench.ts';
import { freePort } from './commands.ts';
import { copyOf, generate, keyCount } from './database.ts';
import { openLoop, openLoopFigures } from './latency.ts';
import { formatRequest, load, traffic } from './load.ts';
import { alternate, ratiosOf, type Turn } from './measure.ts';
import type { OpenLoopReport } from './open-loop.ts';
import { isBanned, profileBody, usernameOf } from './profiles.ts';
import { hotIds, lookup } from './questions.ts';
import { brief, intervalFigures, median, type Result } from './results.ts';
import { startOurs } from './servers.ts';
import type { VisitorsJob, VisitorsReport } from './visitors.ts';

/** So many visits begin each second; each is a sign-in, a request and a decision. */
const VISITS_PER_SECOND = 20;

/** So many lookups are measured in a round at least; a third more are sent while everything warms up. */
const LEAST_LOOKUPS = 200_000;
const WARM_UP = 1.5;

/**
 * The 99th percentile of latency of hot lookups, at half of the server's maximum, while owners sign in and request keys and
 * an admin decides on them, against the same without. Each visit is the work of a real one: pages, forms, mails written to
 * files, and a passkey's signature. Visitors share the client's core with whoever measures, and give way to it.
 */
export async function platformBeside(bench: Bench): Promise<Result[]> {
  const database = copyOf(bench, await generate(bench));
  const ids = hotIds(bench.profiles);
  const asked = traffic(
    bench,
    ids.map((id) => lookup(id)),
  );
  const port = freePort();
  const settings = {
    PORT: String(port),
    // A passkey needs a name.
    PUBLIC_URL: `http://localhost:${port}`,
    // Visitors come from many addresses, as from behind a proxy.
    TRUSTED_PROXIES: '127.0.0.1',
    MAIL_URL: `file:${join(bench.folder, 'mails')}`,
  };
  const ours = await startOurs(bench, database, settings);
  const maximum = (seed: number) => load(bench, ours, asked, { seconds: bench.seconds + 1, seed, isOurs: true });
  await maximum(1); // Warms up.
  const perSecond = (await maximum(2)).perSecond / 2;
  const seconds = Math.max(bench.seconds, Math.ceil((LEAST_LOOKUPS * WARM_UP) / perSecond));
  const questions = asked.questions.map((question, at) => ({
    request: formatRequest(question),
    body: profileBody(ids[at] as number),
  }));
  const measure = () => openLoop(bench, { port: ours.port, questions, perSecond, seconds });

  const owners = ownersWithoutKeys(bench);
  const visits: VisitorsReport[] = [];
  const beside: Turn<OpenLoopReport> = async () => {
    const some = owners.splice(0, VISITS_PER_SECOND * seconds);
    const job = { ...settings, DATABASE_PATH: database, owners: some, perSecond: VISITS_PER_SECOND };
    const [report, visited] = await Promise.all([measure(), visit(bench, job)]);
    visits.push(visited);
    return report;
  };
  const reports = await alternate(bench, { alone: measure, beside }, { warmsUp: false });
  await ours.stop();
  return [resultOf(reports, visits)];
}

function resultOf(reports: Record<'alone' | 'beside', OpenLoopReport[]>, visits: readonly VisitorsReport[]): Result {
  const p99 = (taken: readonly OpenLoopReport[]) => taken.map(({ p99Ms }) => p99Ms);
  const ratios = ratiosOf(p99(reports.beside), p99(reports.alone));
  const ofVisits = {
    'visits a second': brief(median(visits.map(({ perSecond }) => perSecond))),
    'visit p50Ms': brief(median(visits.map(({ p50Ms }) => p50Ms))),
  };
  const all = [...reports.alone, ...reports.beside];
  return {
    name: 'platform-beside',
    what: `p99 latency of lookups beside ${VISITS_PER_SECOND} sign-ins, requests and decisions a second ÷ alone`,
    goal: { most: 1.5 },
    ratios,
    figures: { ...openLoopFigures(reports), ...ofVisits, ...intervalFigures(ratios) },
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
    faults: [...all.flatMap(({ wrong }) => wrong), ...visits.flatMap(({ faults }) => faults)],
  };
}

/** Owners who have no key yet; each visits once. */
function ownersWithoutKeys({ profiles }: Bench): { name: string; address: string }[] {
  const ids = Array.from({ length: profiles }, (_, at) => at + 1).filter((id) => id > keyCount(profiles) / 3);
  const able = ids.filter((id) => !isBanned(id));
  return able.map((id) => ({ name: usernameOf(id), address: `owner${id}@example.org` }));
}

async function visit(bench: Bench, job: VisitorsJob): Promise<VisitorsReport> {
  const file = join(bench.folder, `visitors-${Bun.randomUUIDv7()}.json`);
  const output = `${file}.txt`;
  writeFileSync(file, JSON.stringify(job));
  const words = ['nice', '-n', '5', process.execPath, join(import.meta.dir, 'visitors.ts'), file];
  await run(bench, words, { core: CORE.client, output });
  return JSON.parse(readFileSync(output, 'utf8'));
}
