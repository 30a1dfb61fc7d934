import { closeAccess, openAccess } from '../../../shared/sessions-file/open-access.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { beginSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { profilectlWords } from '../../support/cli.ts';
import { testConfig } from '../../support/world.ts';
import { type Bench, CORE, moveTo } from '../bench.ts';
import { copyOf, generate } from '../database.ts';
import { ask, cpuSeconds, type Load, load, type Question, type Traffic, traffic } from '../load.ts';
import { alternate, checksOf, figuresOf, loading, ratiosOf } from '../measure.ts';
import { boardPages, hotIds, lookup } from '../questions.ts';
import { brief, countText, intervalFigures, median, type Result } from '../results.ts';
import { startOurs, type Target } from '../servers.ts';
import { firstAnswer } from './commands.ts';
import { memoryOf } from './memory.ts';
import { ownersWithoutKeys, startForVisitors, VISITS_PER_SECOND, visit } from './visits.ts';

// What the Developer Platform costs those who don't use it, and what one of its pages costs.

/** Half of the requests for pages that one block of IP addresses may have open at a time. */
const CONNECTIONS = 16;

/** Profiles with three keys each, whose owners look at their keys. */
const OWNERS = 100;

const OFF = { DEVELOPER_PLATFORM: 'off' };

/** Lookups, start and memory with the Developer Platform on and off, and a page of keys. */
export async function platform(bench: Bench): Promise<Result[]> {
  const database = copyOf(bench, await generate(bench));
  const lookups = await hotLookups(bench, database);
  return [lookups, ...(await starts(bench, database)), await keysPage(bench, database), await visits(bench, database)];
}

/** Processor time of a hot lookup, after a first page has started the portal's thread. */
async function hotLookups(bench: Bench, database: string): Promise<Result> {
  const asked = traffic(
    bench,
    hotIds(bench.profiles).map((id) => lookup(id)),
  );
  const on = await startOurs(bench, database);
  const { status } = await ask(on, { path: '/developers', headers: {}, isRight: () => true });
  if (status !== 200) throw new Error(`/developers returned ${status}`);
  const off = await startOurs(bench, copyOf(bench, { path: database, lines: '', profiles: bench.profiles }), OFF);
  const loads = await alternate(bench, { on: loading(bench, on, asked), off: loading(bench, off, asked) });
  await Promise.all([on.stop(), off.stop()]);
  const ratios = cpuRatios(loads.on, loads.off);
  return {
    name: 'platform-hot',
    what: 'hot lookups with the Developer Platform on, processor time ÷ with it off',
    goal: { max: 1.03 },
    ratios,
    figures: { ...figuresOf(loads), ...intervalFigures(ratios) },
    ...checksOf(loads.on, loads.off),
  };
}

/** Time from start to the first lookup, and memory then, without any page. */
async function starts(bench: Bench, database: string): Promise<Result[]> {
  const start = (variables: Record<string, string>) => async () => {
    let mebibytes = 0;
    const ms = await firstAnswer(
      bench,
      profilectlWords(['serve']),
      lookup(1),
      { DATABASE_PATH: database, ...variables },
      (pid) => {
        mebibytes = memoryOf(pid).VmRSS;
      },
    );
    return { ms, mebibytes };
  };
  moveTo(CORE.any);
  const taken = await alternate(bench, { on: start({}), off: start(OFF) });
  moveTo(CORE.client);
  const result = (name: string, figure: 'ms' | 'mebibytes', what: string): Result => {
    const [on, off] = [taken.on, taken.off].map((side) => side.map((one) => one[figure])) as [number[], number[]];
    const ratios = ratiosOf(on, off);
    const figures = { [`on ${figure}`]: brief(median(on)), [`off ${figure}`]: brief(median(off)) };
    return {
      ...{ name, what: `${what} with the Developer Platform on, before its first page ÷ with it off` },
      ...{ goal: { max: 1.05 }, ratios, figures: { ...figures, ...intervalFigures(ratios) }, samples: 0, faults: [] },
    };
  };
  return [
    result('platform-start', 'ms', 'start to first 200'),
    result('platform-memory', 'mebibytes', 'memory after the first 200'),
  ];
}

/** Processor time of an owner's page with three keys, compared with a leaderboard page of fifty. */
async function keysPage(bench: Bench, database: string): Promise<Result> {
  const pages = traffic(bench, keysPages(database));
  const board = traffic(bench, boardPages(bench.profiles));
  const ours = await startOurs(bench, database);
  const by = (what: Traffic) => (turn: { seconds: number; seed: number }) =>
    load(bench, ours as Target, what, { ...turn, isOurs: true, connections: CONNECTIONS });
  const loads = await alternate(bench, { page: by(pages), board: by(board) });
  await ours.stop();
  const ratios = cpuRatios(loads.page, loads.board);
  return {
    name: 'platform-page',
    what: `a page of keys of ${countText(OWNERS)} owners, processor time ÷ leaderboard pages of 50`,
    goal: null,
    ratios,
    figures: { ...figuresOf(loads), ...intervalFigures(ratios) },
    ...checksOf(loads.page, loads.board),
  };
}

/** Visits that warm the pages up, so that hardly any of their functions still needs compiling. */
const WARMING_VISITS = 200;

/**
 * Processor time of a visit, compared with a leaderboard page of fifty: 6 requests, the mail with the code and the
 * one with the secret. Notices about the visit are sent some seconds later, perhaps in a later round.
 */
async function visits(bench: Bench, database: string): Promise<Result> {
  const board = traffic(bench, boardPages(bench.profiles));
  const { ours, settings } = await startForVisitors(bench, database);
  const owners = ownersWithoutKeys(bench);
  const faults: string[] = [];
  const visitAll = async (count: number) => {
    const before = cpuSeconds(ours.pid);
    const some = owners.splice(0, count);
    faults.push(...(await visit(bench, settings, some)).faults);
    return ((cpuSeconds(ours.pid) - before) * 1e6) / some.length;
  };
  await visitAll(WARMING_VISITS);
  const micros = await alternate(bench, {
    visit: ({ seconds }) => visitAll(VISITS_PER_SECOND * seconds),
    board: async (turn) => (await load(bench, ours, board, { ...turn, isOurs: true })).cpuMicros,
  });
  await ours.stop();
  const ratios = ratiosOf(micros.visit, micros.board);
  return {
    name: 'platform-visit',
    what: 'a visit of 6 requests and 2 mails, processor time ÷ leaderboard pages of 50',
    goal: null,
    ratios,
    figures: {
      'visit cpuMs': brief(median(micros.visit) / 1000),
      'board cpuMicros': brief(median(micros.board)),
      ...intervalFigures(ratios),
    },
    samples: 0,
    faults,
  };
}

/** Requests of signed-in owners for the page of their keys. */
function keysPages(database: string): Question[] {
  const access = openAccess(testConfig({ DATABASE_PATH: database }));
  try {
    return Array.from({ length: OWNERS }, (_, at) => {
      const signed = ownerToSign(access, at + 1);
      if (signed === null) throw new Error(`there is no profile ${at + 1}`);
      const { token } = beginSignIn(access, signed, { client: { address: '127.0.0.1', agent: 'bench' } });
      const isRight: Question['isRight'] = ({ status, body }) => status === 200 && body.includes(`Bot ${3 * at}`);
      return { path: '/developers/keys', headers: { Cookie: `session=${token}`, Accept: 'text/html' }, isRight };
    });
  } finally {
    closeAccess(access);
  }
}

function cpuRatios(over: readonly Load[], under: readonly Load[]): number[] {
  const micros = (taken: readonly Load[]) => taken.map(({ cpuMicros }) => cpuMicros);
  return ratiosOf(micros(over), micros(under));
}
