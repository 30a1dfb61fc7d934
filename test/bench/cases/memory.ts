import { readFileSync, truncateSync } from 'node:fs';
import type { Bench } from '../bench.ts';
import { generate } from '../database.ts';
import { type Load, load, traffic } from '../load.ts';
import { checksOf } from '../measure.ts';
import { anyId, batch, boardPages, byManyKeys, hotIds, links, lookup, many, missing } from '../questions.ts';
import { brief, countText, type Result } from '../results.ts';
import { startOurs } from '../servers.ts';

const MAX_MIB = 200;
/** Memory is measured after this many requests per profile: 1, 5 and 10 million with a million profiles. */
const STEPS = [1, 5, 10];
const SHARE = 20_000;

/** The server's peak memory during more and more requests of all kinds. */
export async function memory(bench: Bench): Promise<Result[]> {
  const { path } = await generate(bench);
  const { profiles } = bench;
  const ids = hotIds(profiles);
  const pages = boardPages(profiles);
  const succeeding = traffic(bench, [
    ...byManyKeys(profiles).slice(0, 2 * SHARE),
    ...many(3 * SHARE, () => lookup(anyId(profiles))),
    ...many(SHARE, () => links(anyId(profiles))),
    ...many(SHARE / 20, (at) => pages[(at * 7919) % pages.length] as (typeof pages)[number]),
    ...many(SHARE / 20, (at) => batch(ids.slice(at % 900, (at % 900) + 20))),
  ]);
  const failing = traffic(bench, many(SHARE, missing), { isRefused: true });
  const ours = await startOurs(bench, path);
  const loads: Load[] = [];
  const figures: Record<string, number> = {};
  const resident: number[] = [];
  let requests = 0;
  for (const step of STEPS) {
    let peak = { VmRSS: 0, RssAnon: 0 };
    while (requests < step * profiles) {
      for (const what of [succeeding, failing]) {
        const seconds = what === failing ? Math.ceil(bench.seconds / 4) : 5 * bench.seconds;
        const round = await load(bench, ours, what, { seconds, seed: loads.length, isOurs: true });
        requests += round.requests;
        loads.push(round);
        const now = memoryOf(ours.pid);
        if (now.VmRSS > peak.VmRSS) peak = now;
      }
      truncateSync(ours.log);
    }
    resident.push(peak.VmRSS);
    figures[`resident MiB until ${countText(requests)}`] = brief(peak.VmRSS);
    figures[`of it anonymous MiB until ${countText(requests)}`] = brief(peak.RssAnon);
  }
  await ours.stop();
  const [first, last] = [resident[0] as number, resident.at(-1) as number];
  const asked = `${countText(profiles * (STEPS.at(-1) as number))} requests of all kinds`;
  return [
    {
      name: 'memory',
      what: `memory after ${asked} ÷ ${MAX_MIB} MiB`,
      goal: { max: 1 },
      ratios: [brief(last / MAX_MIB)],
      figures,
      ...checksOf(loads),
    },
    {
      name: 'memory-growth',
      what: `memory after ${asked} ÷ after a tenth`,
      goal: { max: 1.1 },
      ratios: [brief(last / first)],
      figures: {},
      samples: 0,
      faults: [],
    },
  ];
}

/** The memory of a process, and how much of it is anonymous (not mapped from files), in MiB; Linux only. */
export function memoryOf(pid: number): { VmRSS: number; RssAnon: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { VmRSS: read('VmRSS'), RssAnon: read('RssAnon') };
}
