import type { Bench } from '../bench.ts';
import { generate } from '../database.ts';
import { ask, type Load, traffic } from '../load.ts';
import { againstBare, alternate, checksOf, figuresOf, loading, ratiosOf } from '../measure.ts';
import {
  anyId,
  batch,
  boardPages,
  byManyKeys,
  DISTINCT,
  HOT,
  hotIds,
  LOOKUP_OF_NAME,
  links,
  lookup,
  many,
  missing,
  unchanged,
} from '../questions.ts';
import { countText, type Result } from '../results.ts';
import { startOurs, type Target } from '../servers.ts';

const BATCH = 100;
const SAMPLED = 10_000;

const perSecond = (loads: readonly Load[]) => loads.map((load) => load.perSecond);

/** Lookups of a few hot profiles, compared with a bare server that sends responses of the same size. */
export async function hot(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const what = `lookups of ${countText(HOT)} hot profiles among ${countText(bench.profiles)} ÷ bare`;
  return [await againstBare(bench, path, { name: 'hot', what }, () => hotTraffic(bench))];
}

function hotTraffic(bench: Bench) {
  return traffic(
    bench,
    hotIds(bench.profiles).map((id) => lookup(id)),
  );
}

function uniformTraffic(bench: Bench) {
  return traffic(
    bench,
    many(SAMPLED, () => lookup(anyId(bench.profiles))),
    { names: LOOKUP_OF_NAME },
  );
}

/** Lookups of any profile, compared with bare. */
export async function uniform(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const what = `lookups uniformly random over ${countText(bench.profiles)} profiles ÷ bare`;
  return [await againstBare(bench, path, { name: 'uniform', what }, () => uniformTraffic(bench))];
}

/** Lookups of any profile, compared with lookups among a tenth as many. */
export async function sizes(bench: Bench): Promise<Result[]> {
  const fewer = { ...bench, profiles: Math.ceil(bench.profiles / 10) };
  const servers: Target[] = [];
  for (const size of [fewer, bench]) servers.push(await startOurs(bench, (await generate(size)).path));
  const [small, large] = servers as [Target, Target];
  const loads = await alternate(bench, {
    fewer: loading(bench, small, uniformTraffic(fewer)),
    all: loading(bench, large, uniformTraffic(bench)),
  });
  await Promise.all(servers.map((server) => server.stop()));
  return [
    {
      name: bench.profiles > 1_000_000 ? 'sizes-large' : 'sizes',
      what: `lookups uniformly random over ${countText(bench.profiles)} profiles ÷ over ${countText(fewer.profiles)}`,
      goal: { min: 0.8 },
      ratios: ratiosOf(perSecond(loads.all), perSecond(loads.fewer)),
      figures: figuresOf(loads),
      ...checksOf(loads.all, loads.fewer),
    },
  ];
}

/** Links of any profile, compared with bare. */
export async function linkLists(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const about = { name: 'links', what: 'links of any profile ÷ bare' };
  const ids = many(DISTINCT, () => links(anyId(bench.profiles)));
  return [await againstBare(bench, path, about, () => traffic(bench, ids))];
}

/** Pages of the leaderboard at any offset, compared with bare. */
export async function leaderboard(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const about = { name: 'leaderboard', what: 'leaderboard pages of 50 at any offset ÷ bare' };
  return [await againstBare(bench, path, about, () => traffic(bench, boardPages(bench.profiles)))];
}

/** Hot profiles that clients already have, compared with bare. */
export async function notModified(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const about = { name: 'not-modified', what: 'lookups answered with 304 ÷ bare' };
  return [
    await againstBare(bench, path, about, async (ours) => {
      const questions = [];
      for (const id of hotIds(bench.profiles)) {
        const { headers } = await ask(ours, lookup(id));
        questions.push(unchanged(id, headers.get('etag') ?? ''));
      }
      return traffic(bench, questions);
    }),
  ];
}

/** Unknown names, compared with bare. */
export async function notFound(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const about = { name: 'not-found', what: 'lookups answered with 404 ÷ bare' };
  return [await againstBare(bench, path, about, () => traffic(bench, many(DISTINCT, missing), { isRefused: true }))];
}

/** Profiles a second in lookups of a hundred, compared with single lookups. */
export async function batches(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const ids = hotIds(bench.profiles);
  const hundreds = many(2_000, () => batch(ids.toSorted(() => Math.random() - 0.5).slice(0, BATCH)));
  const ours = await startOurs(bench, path);
  const loads = await alternate(bench, {
    single: loading(bench, ours, hotTraffic(bench)),
    hundred: loading(bench, ours, traffic(bench, hundreds)),
  });
  await ours.stop();
  return [
    {
      name: 'batch',
      what: `profiles a second by lookups of ${BATCH} ÷ by single lookups, hot`,
      goal: { min: 10 },
      ratios: ratiosOf(
        perSecond(loads.hundred).map((each) => each * BATCH),
        perSecond(loads.single),
      ),
      figures: figuresOf(loads),
      ...checksOf(loads.hundred, loads.single),
    },
  ];
}

/** Many keys in use at once, compared with one. */
export async function keys(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const ours = await startOurs(bench, path);
  const everyKey = byManyKeys(bench.profiles);
  const loads = await alternate(bench, {
    one: loading(bench, ours, traffic(bench, byManyKeys(bench.profiles, [0]))),
    many: loading(bench, ours, traffic(bench, everyKey)),
  });
  await ours.stop();
  const inUse = new Set(everyKey.map(({ headers }) => headers.Authorization)).size;
  return [
    {
      name: 'keys',
      what: `hot lookups by ${countText(inUse)} Active keys at once ÷ by one key`,
      goal: { min: 0.9 },
      ratios: ratiosOf(perSecond(loads.many), perSecond(loads.one)),
      figures: figuresOf(loads),
      ...checksOf(loads.many, loads.one),
    },
  ];
}
