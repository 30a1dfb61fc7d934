import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { startServer } from '../../../server/main.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { commandEnvironment, type Finished, PROJECT, profilectl, profilectlWords } from '../../support/cli.ts';
import { get } from '../../support/http.ts';
import { approveKey, DESCRIPTION, keysListed, mailedSecrets, mails, request } from '../../support/keys.ts';
import { type SmtpStage, startBrokenSmtp, startSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds } from '../../support/rounds.ts';
import { onBox, testDeps } from '../../support/world.ts';
import { isOpenIn } from '../machine.ts';

// Real processes and mail servers: processes are killed, or compete.

type World = ReturnType<typeof testDeps>;

// One database for each series of kills: they lock theirs, and would block each other in this process.
const worlds: World[] = Array.from({ length: 4 }, () => testDeps({ variables: { TRUSTED_PROXIES: '127.0.0.1' } }));
const [deps] = worlds as [World, ...World[]];
const received: string[] = [];
let nextId = 1;

function newProfile(world: World): string {
  insertProfile(world.db, { id: nextId });
  return `user${nextId++}`;
}

const servers = new Map(
  await Promise.all(
    worlds.map(async (world) => {
      const log = { write: () => undefined, drain: async () => undefined };
      const server = await startServer(world, { port: 0, log });
      afterAll(server.stop);
      return [world, server] as const;
    }),
  ),
);
let tried = 0;

/** Whether a server accepts this secret. Each call uses a different IP address, because failed logins are throttled. */
async function isAccepted(world: World, secret: string): Promise<boolean> {
  const server = servers.get(world) ?? { url: '' };
  const address = `10.1.${++tried >> 8}.${tried & 255}`;
  const headers = { 'X-Forwarded-For': address, 'X-Forwarded-Proto': 'https' };
  const { status } = await get(server, '/api/key', secret, { headers });
  expect([200, 401]).toContain(status);
  return status === 200;
}

function mailVariables(world: World, port: number): Record<string, string> {
  return {
    DATABASE_PATH: world.config.databasePath,
    MAIL_URL: `smtp://127.0.0.1:${port}`,
    MAIL_FROM: 'keys@example.net',
  };
}

describe('commands at the same time', () => {
  test('6 simultaneous requests for one profile get exactly three keys', async () => {
    const profile = newProfile(deps);
    const words = ['keys', 'request', '--profile', profile, '--name', 'Bot', '--permission', 'api.lookup'];
    const all = Array.from({ length: 6 }, () =>
      profilectl([...words, '--description', DESCRIPTION], { variables: { DATABASE_PATH: deps.config.databasePath } }),
    );
    const runs = await Promise.all(all);
    expect(runs.filter((run) => run.code === 0)).toHaveLength(3);
    for (const run of runs.filter((run) => run.code !== 0)) {
      expect(run.code).toBe(1);
      expect(run.stderr).toContain('has 3 keys already');
    }
    expect(keysListed(deps, { profile })).toHaveLength(3);
  });

  test('5 simultaneous approvals of one key send one mail, and one succeeds', async () => {
    const identifier = await request(deps, { profile: newProfile(deps) });
    const started = Promise.withResolvers<void>();
    const smtp = await startSmtp({ onMessage: () => started.promise });
    const runs: Finished[] = [];
    const all = Array.from({ length: 5 }, () =>
      profilectl(['keys', 'approve', identifier], { variables: mailVariables(deps, smtp.port) }).then((run) => {
        // The mail is held back until the other four have been refused.
        if (runs.push(run) === 4) started.resolve();
      }),
    );
    await Promise.all(all);
    expect(runs.map((run) => run.code).sort()).toEqual([0, 75, 75, 75, 75]);
    for (const { stderr } of runs.filter(({ code }) => code !== 0)) {
      expect(stderr).toContain('has been approving key');
      expect(stderr).not.toMatch(/still pending|[Aa]pprove again/);
    }
    expect(smtp.received).toHaveLength(1);
    received.push(...smtp.received.map((mail) => mail.raw));
  });
});

/** When an approval is killed: at a stage of SMTP, at a lock before or after the mail, or after a time in ms. */
type Kill = SmtpStage | 'before it begins' | 'accepted, before activation' | 'activated' | number;

const STAGES: Kill[] = [
  'greeting',
  'EHLO',
  'MAIL',
  'RCPT',
  'DATA',
  'dot',
  'before it begins',
  'accepted, before activation',
  'activated',
];

/** Runs one approval as a process and kills it; resolves when it has exited. */
async function approveAndKill(world: World, identifier: string, kill: Kill): Promise<void> {
  const lock = openDatabase(world.config.databasePath, 'use');
  const at = Promise.withResolvers<void>();
  const isStage = typeof kill === 'string' && !kill.includes(' ') && kill !== 'activated';
  const smtp = isStage
    ? await startBrokenSmtp({ [kill]: 'silence' })
    : await startSmtp({
        onMessage: (mail) => {
          received.push(mail.raw);
          if (kill === 'accepted, before activation') lock.$client.run('BEGIN IMMEDIATE');
        },
      });
  if (kill === 'before it begins') lock.$client.run('BEGIN IMMEDIATE');
  const child = Bun.spawn(profilectlWords(['keys', 'approve', identifier]), {
    env: commandEnvironment(mailVariables(world, smtp.port)),
    cwd: PROJECT,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const reached = (): boolean => {
    if ('seen' in smtp) return smtp.seen.includes(kill as SmtpStage);
    if (kill === 'accepted, before activation') return smtp.received.length > 0;
    // It waits for the lock as soon as it has opened the database.
    if (kill === 'before it begins') return isOpenIn(child.pid, world.config.databasePath);
    return kill === 'activated' && showKey(world, identifier).state === 'Active';
  };
  // Random moments are times; the others are observed.
  if (typeof kill === 'number') setTimeout(at.resolve, kill);
  else {
    const watch = setInterval(() => {
      if (!reached() && child.exitCode === null) return;
      clearInterval(watch);
      at.resolve();
    }, 3);
  }
  await at.promise;
  child.kill('SIGKILL');
  await child.exited;
  if (lock.$client.inTransaction) lock.$client.run('ROLLBACK');
  lock.$client.close();
  if ('seen' in smtp) received.push(smtp.content());
}

/** How long a complete approval currently takes here, in milliseconds. */
async function timeApproval(world: World): Promise<number> {
  const identifier = await request(world, { profile: newProfile(world) });
  const smtp = await startSmtp({ onMessage: (mail) => void received.push(mail.raw) });
  const startedAt = performance.now();
  const { code } = await profilectl(['keys', 'approve', identifier], { variables: mailVariables(world, smtp.port) });
  const tookMs = performance.now() - startedAt;
  expect(code).toBe(0);
  await smtp.stop();
  return tookMs;
}

async function countAccepted(world: World, secrets: readonly string[]): Promise<number> {
  const accepted = await Promise.all(secrets.map((secret) => isAccepted(world, secret)));
  return accepted.filter((is) => is).length;
}

describe('approvals that are killed', () => {
  test('an approval killed at any moment leaves a sound database, a pending or Active key, and at most one valid secret', async () => {
    const outcomes: Record<string, number> = {};
    const runOne = async (world: World, kill: Kill): Promise<void> => {
      const later = { ...world, clock: { ...world.clock, nowMs: () => world.clock.nowMs() + 120_000 } };
      const identifier = await request(world, { profile: newProfile(world) });
      await approveAndKill(world, identifier, kill);
      const key = showKey(later, identifier);
      expect(['pending', 'Active']).toContain(key.state);
      if (key.state === 'pending' && key.attempt !== null) expect(key.attempt.result).toBe('not confirmed');
      const outcome = `${typeof kill === 'number' ? 'at random' : kill}: ${key.state}`;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (key.state === 'pending') await approveKey(later, { identifier, grant: {}, by: onBox('admin') });
      const secrets = received.join('\n').match(new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`, 'g')) ?? [];
      const all = [...new Set([...secrets, ...mailedSecrets(world, identifier)])];
      expect(await countAccepted(world, all)).toBe(1);
    };
    const tookMs = await timeApproval(deps);
    const parts = fc.sample(fc.integer({ min: 20, max: 180 }), rounds(4));
    const instants = parts.map((part) => (tookMs * part) / 100);
    const kills: Kill[] = [...Array.from({ length: rounds(1) }, () => STAGES).flat(), ...instants];
    await Promise.all(
      worlds.map(async (world) => {
        for (let kill = kills.pop(); kill !== undefined; kill = kills.pop()) await runOne(world, kill);
      }),
    );
    process.stderr.write(`killed approvals: ${JSON.stringify(outcomes)}\n`);
    for (const { db } of worlds) {
      expect(db.$client.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      expect(db.$client.query('PRAGMA foreign_key_check').all()).toEqual([]);
    }
    expect(outcomes['activated: Active']).toBe(rounds(1));
    expect(outcomes['accepted, before activation: pending']).toBe(rounds(1));
  }, 240_000);
});

test('the server accepts one mailed secret for each Active key, and no other', async () => {
  const secrets =
    [...received, ...worlds.flatMap((world) => mails(world))].join('\n').match(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g) ??
    [];
  const all = [...new Set(secrets)];
  let active = 0;
  let accepted = 0;
  for (const world of worlds) {
    active += keysListed(world).filter(({ state }) => state === 'Active').length;
    accepted += await countAccepted(world, all);
  }
  process.stderr.write(`mailed secrets: ${all.length}, accepted: ${accepted}\n`);
  expect(accepted).toBe(active);
  expect(all.length).toBeGreaterThan(accepted);
});

test('neither a mailed secret nor its random part is in the database or its write-ahead log', () => {
  const everyMail = [...received, ...worlds.flatMap((world) => mails(world))];
  const mailed = everyMail.flatMap((mail) => mail.match(/plk_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/g) ?? []);
  expect(mailed.length).toBeGreaterThan(rounds(8));
  for (const { folder } of worlds) {
    const files = readdirSync(folder).filter((name) => name.startsWith('profiles'));
    expect(files.length).toBeGreaterThanOrEqual(2);
    for (const name of files) {
      const bytes = readFileSync(join(folder, name));
      for (const secret of mailed) expect(bytes.includes(secret.slice(13, 45))).toBe(false);
    }
  }
});
