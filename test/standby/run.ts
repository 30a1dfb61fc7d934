import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { profilectl } from '../support/cli.ts';
import { type Images, makeImages, missingPackages } from './images.ts';
import { type Acknowledged, ask, createAcknowledged, load, SEED_PROFILES, startMailServer } from './load.ts';
import { type Machine, makeVolume, type Setup, startMachine, waitFor } from './machine.ts';
import { approveAgain, findForgotten, findLosses } from './verify.ts';

// `bun run test:standby`: repeatedly cuts the power of the active one of two machines, and checks what the other one
// has. docs/availability.md has the results.

const { values } = parseArgs({ options: { cuts: { type: 'string', default: '3' } } });

type World = {
  folder: string;
  images: Images;
  acked: Acknowledged;
  spender: string;
  cutsAtMs: number[];
  losses: string[];
};

/** The clock of a machine and its link, by turns. */
const TURNS: Omit<Setup, 'name'>[] = [
  { clockAheadSeconds: 0, linkDelayMs: 0 },
  { clockAheadSeconds: 3600, linkDelayMs: 0 },
  { clockAheadSeconds: -3600, linkDelayMs: 20 },
];

/** Makes a database with profiles and a key that may make a million requests a day; returns the key's secret. */
async function makeDatabase(folder: string): Promise<string> {
  const mails = join(folder, '../mails');
  const variables = { DATABASE_PATH: join(folder, 'profiles.db'), MAIL_URL: `file:${mails}` };
  const lines = Array.from({ length: SEED_PROFILES }, (_, index) => ({
    id: index + 1,
    username: `u${index + 1}`,
    email: `u${index + 1}@example.org`,
  }));
  const seen = async (words: string[], stdin?: string) => {
    const done = await profilectl(words, { variables, ...(stdin !== undefined && { stdin }) });
    if (done.code !== 0) throw new Error(done.stderr);
    return done.stdout;
  };
  await seen(['profiles', 'import', '-'], lines.map((line) => JSON.stringify(line)).join('\n'));
  const about = ['--name', 'Load', '--description', 'x'.repeat(80), '--permission', 'api.lookup', '--json'];
  const { identifier } = JSON.parse(await seen(['keys', 'request', '--profile', 'u1', ...about]));
  await seen(['keys', 'approve', identifier, '--yes', '--rate-limit', '1000000/1d']);
  const mail = readFileSync(
    join(mails, readdirSync(mails).find((name) => name.includes('approval')) as string),
    'utf8',
  );
  return /plk_\w{8}_\w{38}/.exec(mail)?.[0] as string;
}

const drbdState = async (machine: Machine): Promise<string> => (await machine.shell('cat /proc/drbd')) as string;

/** Makes a machine the active one, as docs/availability.md describes, and waits until it answers. */
async function promote(machine: Machine, spender: string): Promise<void> {
  let said = '';
  // A machine refuses to be the primary one until it has noticed that the other is gone.
  const toBePrimary = () => `${machine.name} to be primary: ${said}`;
  await waitFor(toBePrimary, async () => {
    said = await machine.shell('drbdadm primary profiles && echo is primary');
    return said.includes('is primary');
  });
  await machine.shell('mount -t ext4 /dev/drbd0 /var/lib/profile-lookup');
  await machine.shell('profilectl serve >/tmp/serve.log 2>&1 </dev/null &');
  await waitFor(`${machine.name} to answer`, async () => (await ask(machine, '/api/key', spender)) === 200);
}

async function startPair({ folder, images }: World): Promise<[Machine, Machine]> {
  for (const name of ['alpha', 'beta'] as const) makeVolume(folder, images, name);
  const [alpha, beta] = await Promise.all([
    startMachine(folder, images, { name: 'alpha', ...(TURNS[0] as (typeof TURNS)[0]) }),
    startMachine(folder, images, { name: 'beta', ...(TURNS[1] as (typeof TURNS)[0]) }),
  ]);
  const up = 'yes yes | drbdadm create-md --force profiles 2>&1; drbdadm up profiles 2>&1';
  const said = await Promise.all([alpha.shell(up), beta.shell(up)]);
  await waitFor(`the two to be connected: ${said.join()}`, async () =>
    (await drbdState(alpha)).includes('cs:Connected'),
  );
  await alpha.shell('drbdadm new-current-uuid --clear-bitmap profiles/0');
  await waitFor('the two disks to be the same', async () => (await drbdState(alpha)).includes('ds:UpToDate/UpToDate'));
  return [alpha, beta];
}

/** Waits up to 20 s until another secret is mailed, whose key is not Active yet. */
async function nextMail({ secrets }: Acknowledged): Promise<void> {
  const before = secrets.size;
  const deadline = performance.now() + 20_000;
  while (secrets.size === before && performance.now() < deadline) await Bun.sleep(1);
}

/** One round: load, a power cut, and a check of the survivor. Returns the survivor and the other one, restarted. */
async function round(world: World, number: number, active: Machine, standby: Machine): Promise<[Machine, Machine]> {
  const { acked, spender } = world;
  const seconds = 10 + Math.random() * 15;
  let isDone = false;
  const commits = acked.commits;
  const loading = load(active, acked, spender, () => isDone);
  await Bun.sleep(seconds * 1000);
  if (number % 2 === 0) await nextMail(acked);
  isDone = true;
  await active.cut();
  world.cutsAtMs.push(performance.now());
  const cutAt = performance.now();
  await loading;
  await promote(standby, spender);
  const awayMs = performance.now() - cutAt;
  const forgotten = await findForgotten(standby, acked, spender, world.cutsAtMs);
  const losses = await findLosses(standby, acked);
  const again = await approveAgain(standby, acked);
  if (again > 0) losses.push(...(await findLosses(standby, acked)));
  if (forgotten.requests > forgotten.allowed) losses.push('more than two seconds of the quota are forgotten');
  world.losses.push(...losses);
  print(
    `Cut ${number} after ${seconds.toFixed(1)} s: ${acked.commits - commits} commits acknowledged, away for ${(awayMs / 1000).toFixed(1)} s,`,
    `of ${acked.answeredAtMs.length} lookups so far ${forgotten.requests} not counted (${forgotten.allowed} allowed), ${again} keys approved again,`,
    losses.length === 0 ? 'nothing lost.' : `LOST: ${losses.join('; ')}.`,
  );
  const turn = TURNS[(number + 1) % TURNS.length] as (typeof TURNS)[0];
  const back = await startMachine(world.folder, world.images, { name: active.name, ...turn });
  let said = await back.shell('drbdadm up profiles 2>&1');
  const toBeSame = () => `the disks to be the same again: ${said}`;
  await waitFor(toBeSame, async () => {
    said = await drbdState(standby);
    return said.includes('ds:UpToDate/UpToDate');
  });
  return [standby, back];
}

function print(...words: string[]): void {
  process.stdout.write(`${words.join(' ')}\n`);
}

async function main(): Promise<number> {
  const missing = missingPackages();
  if (missing.length > 0) {
    print(`Skipped: test:standby needs the Debian packages ${missing.join(', ')}.`);
    return 0;
  }
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-standby-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const acked = createAcknowledged();
  const mail = await startMailServer(acked);
  try {
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    const spender = await makeDatabase(data);
    const images = await makeImages(folder, data, mail.port);
    const world: World = { folder, images, acked, spender, cutsAtMs: [], losses: [] };
    let [active, standby] = await startPair(world);
    await promote(active, spender);
    for (let number = 1; number <= Number(values.cuts); number++)
      [active, standby] = await round(world, number, active, standby);
    await Promise.all([active.cut(), standby.cut()]);
    print(
      `${values.cuts} cuts: ${acked.commits} commits acknowledged, ${acked.secrets.size} secrets mailed, ${world.losses.length} losses.`,
    );
    return world.losses.length === 0 ? 0 : 1;
  } finally {
    mail.close();
  }
}

// The machines end with this process (machine.ts), however it ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
process.exit(await main());
