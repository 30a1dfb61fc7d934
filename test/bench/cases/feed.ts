import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { profilectlWords } from '../../support/cli.ts';
import { type Bench, CORE, run, spawn } from '../bench.ts';
import { copyOf, generate, writeLines } from '../database.ts';
import { ask, type Load, traffic } from '../load.ts';
import { alternate, checksOf, figuresOf, loading, ratiosOf, type Turn } from '../measure.ts';
import { profileBody } from '../profiles.ts';
import { changingLookup, HOT, hotIds, lookup } from '../questions.ts';
import { brief, countText, intervalFigures, median, type Result } from '../results.ts';
import { startOurs, type Target } from '../servers.ts';
import { senderToken, sendFile } from './feed-sender.ts';

// Profiles sent by a backend, compared with an import of the same lines.

/** The most lines that a request with `partial=1` may have; it has one for each profile if there are fewer. */
const LINES = 50_000;

/** A lookup that begins this long after the response must see what was sent. */
const SEEN_AFTER_MS = 20;
const CLIENTS = 32;

/** A server with a copy of the generated profiles, a token for changing them, and the changes in files. */
type World = {
  bench: Bench;
  ours: Target;
  database: string;
  token: string;
  /** Each changes the same profiles to another version. */
  files: readonly [string, string];
  /** The next of these files, so that no turn sends the file of the turn before. */
  nextFile: () => string;
};

const VERSIONS = [1, 2] as const;

/** How soon sent profiles are visible, how long sending them takes, and how fast lookups are meanwhile. */
export async function feed(bench: Bench): Promise<Result[]> {
  const database = copyOf(bench, await generate(bench));
  const files = VERSIONS.map((version) => join(bench.folder, `sent-${version}.jsonl`)) as [string, string];
  const count = Math.min(bench.profiles, LINES);
  const ids = Array.from({ length: count }, (_, at) => 1 + Math.floor((at * bench.profiles) / count));
  for (const [at, file] of files.entries()) await writeLines(file, ids, VERSIONS[at] as number);
  const ours = await startOurs(bench, database);
  let turn = 0;
  const nextFile = () => files[turn++ % files.length] as string;
  const world: World = { bench, ours, database, token: senderToken(database), files, nextFile };
  const results = [await freshness(world), await againstImport(world, count), await lookupsWhileWriting(world)];
  await ours.stop();
  rmSync(database, { force: true });
  return results;
}

/** The share of lookups, begun 20 ms after the response, that see what was sent. Caches have all profiles. */
async function freshness({ bench, ours, token }: World): Promise<Result> {
  const ids = hotIds(bench.profiles);
  const ratios: number[] = [];
  const faults: string[] = [];
  const counts = { late: 0, old: 0, asked: 0 };
  for (let version = 3; version < 3 + bench.rounds; version++) {
    const before = version === 3 ? 0 : version - 1;
    await lookUpEach(ours, ids, { sent: before, before, answeredAt: Number.NEGATIVE_INFINITY }, faults);
    const file = join(bench.folder, 'hot.jsonl');
    await writeLines(file, ids, version);
    const imported = await sendFile(ours, token, file, { partial: false });
    const answeredAt = performance.now();
    if (imported !== ids.length) throw new Error(`only ${imported} of ${ids.length} lines were imported`);
    const { late, old, asked } = await lookUpEach(ours, ids, { sent: version, before, answeredAt }, faults);
    ratios.push(brief((ids.length - late) / ids.length));
    counts.late += late;
    counts.old += old;
    counts.asked += asked;
  }
  return {
    name: 'feed-fresh',
    what: `of lookups that begin ${SEEN_AFTER_MS} ms after ${countText(HOT)} of ${countText(bench.profiles)} profiles were sent, those that say so ÷ all`,
    goal: { min: 1 },
    ratios,
    figures: { late: counts.late, 'old before that': counts.old, 'asked before that': counts.asked },
    samples: bench.rounds * ids.length,
    faults,
  };
}

/**
 * Looks up profile after profile until each was looked up {@link SEEN_AFTER_MS} after the response. Returns how many
 * of those last lookups saw the old state (`late`), and how many of the earlier ones did (`old`, of `asked`).
 */
async function lookUpEach(
  ours: Target,
  ids: readonly number[],
  { sent, before, answeredAt }: { sent: number; before: number; answeredAt: number },
  faults: string[],
): Promise<{ late: number; old: number; asked: number }> {
  const counts = { late: 0, old: 0, asked: 0 };
  let at = 0;
  let counted = 0;
  const client = async () => {
    while (counted < ids.length) {
      const isCounted = performance.now() - answeredAt >= SEEN_AFTER_MS;
      if (isCounted) counted++;
      else counts.asked++;
      const id = ids[at++ % ids.length] as number;
      const { status, body } = await ask(ours, lookup(id));
      if (body === profileBody(id, sent)) continue;
      if (body === profileBody(id, before)) counts[isCounted ? 'late' : 'old']++;
      else faults.push(`profile ${id} returned ${status}: ${body.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return counts;
}

/** How long sending lines takes, compared with importing the same lines; both change all their profiles. */
async function againstImport({ bench, ours, database, token, nextFile }: World, count: number): Promise<Result> {
  const times = await alternate(bench, {
    sent: async () => {
      const file = nextFile();
      const started = performance.now();
      const imported = await sendFile(ours, token, file, { partial: true });
      if (imported !== count) throw new Error(`only ${imported} of ${count} lines were imported`);
      return performance.now() - started;
    },
    imported: async () => {
      const words = ['profiles', 'import', nextFile(), '--db', database];
      const started = performance.now();
      await run(bench, profilectlWords(words), { core: CORE.any });
      return performance.now() - started;
    },
  });
  const ratios = ratiosOf(times.sent, times.imported);
  const figures = { 'sent ms': brief(median(times.sent)), 'imported ms': brief(median(times.imported)) };
  return {
    name: 'feed-import',
    what: `${countText(count)} lines sent by a platform, time ÷ an import of them`,
    goal: null,
    ratios,
    figures: { ...figures, ...intervalFigures(ratios) },
    samples: 0,
    faults: [],
  };
}

/** Hot lookups while request after request sends lines, compared with lookups during imports. */
async function lookupsWhileWriting(world: World): Promise<Result> {
  const { bench, ours, database, token, nextFile } = world;
  const asked = traffic(
    bench,
    hotIds(bench.profiles).map((id) => changingLookup(id, 2 + bench.rounds)),
  );
  // A client that does not spin leaves the writer a share of its core.
  const measure = loading(bench, ours, asked, { isOurs: true, spins: false });
  const loads = await alternate(bench, {
    sent: whileWriting(measure, (signal) => sendFile(ours, token, nextFile(), { partial: true, signal })),
    imported: whileWriting(measure, async (signal) => {
      const child = spawn(bench, profilectlWords(['profiles', 'import', nextFile(), '--db', database]), {
        core: CORE.any,
      });
      signal.addEventListener('abort', () => child.kill('SIGTERM'));
      const code = await child.exited;
      if (code !== 0 && !signal.aborted) throw new Error(`the import during the load ended with ${code}`);
    }),
  });
  const perSecond = (taken: readonly Load[]) => taken.map((one) => one.perSecond);
  const ratios = ratiosOf(perSecond(loads.sent), perSecond(loads.imported));
  return {
    name: 'feed-lookupsWhileWriting',
    what: 'hot lookups while a platform sends profiles ÷ while an import of them runs',
    goal: { min: 0.9 },
    ratios,
    figures: { ...figuresOf(loads, false), ...intervalFigures(ratios) },
    ...checksOf(loads.sent, loads.imported),
  };
}

/** A turn during which `write` is repeated; the last repetition is aborted at the end of the turn. */
function whileWriting(measure: Turn<Load>, write: (signal: AbortSignal) => Promise<unknown>): Turn<Load> {
  return async (turn) => {
    const end = new AbortController();
    const writing = (async () => {
      while (!end.signal.aborted) await write(end.signal);
    })();
    const measured = measure(turn).finally(() => end.abort());
    await Promise.all([measured, writing]);
    return measured;
  };
}
