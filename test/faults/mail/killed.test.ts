import { afterAll, expect, test } from 'bun:test';
import { systemClock } from '../../../shared/clock.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { createDeps } from '../../../shared/deps.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { commandEnvironment, profilectlWords } from '../../support/cli.ts';
import { request } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { testDeps } from '../../support/world.ts';
import { mountSmallDisk, NO_MOUNT } from '../machine.ts';

// Mails without a secret, with real processes and mail servers: each promised mail arrives, whatever is killed.

const LATER_MS = 3_600_000;

function variablesOf(databasePath: string, url: string): Record<string, string> {
  return { DATABASE_PATH: databasePath, MAIL_URL: url, MAIL_FROM: 'keys@example.org' };
}

/** Each command is killed at a different moment: some before the mail server receives anything, some after. */
test('whenever a reject command is killed, the owner is mailed exactly what it has decided', async () => {
  const commands = rounds(6);
  const random = seededRandom('killed commands that reject');
  const children = new Map<string, { kill: (signal: NodeJS.Signals) => void }>();
  const identifierIn = (raw: string) => /Subject: Your API key request (\w+) was rejected/.exec(raw)?.[1] ?? '';
  const smtp = await startSmtp({
    // Every third command is killed after the mail server has received the mail, before it confirms.
    onMessage: ({ raw }) => {
      const identifier = identifierIn(raw);
      if (identifiers.indexOf(identifier) % 3 === 0) children.get(identifier)?.kill('SIGKILL');
    },
  });
  const deps = testDeps({ variables: { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.org' } });
  const identifiers: string[] = [];
  for (let id = 1; id <= commands; id++) {
    insertProfile(deps.db, { id });
    identifiers.push(await request(deps, { profile: `user${id}` }));
  }
  const env = commandEnvironment(variablesOf(deps.config.databasePath, smtp.url));
  const startedAtMs = performance.now();
  let lifetimeMs = 1_000;
  const runOne = async (identifier: string, at: number) => {
    const words = profilectlWords(['keys', 'reject', identifier, '--reason', 'No.']);
    const child = Bun.spawn(words, { env, stdout: 'ignore', stderr: 'ignore' });
    children.set(identifier, child);
    const timer = at % 3 === 0 ? null : setTimeout(() => child.kill('SIGKILL'), lifetimeMs * random() * 1.2);
    await child.exited;
    if (timer !== null) clearTimeout(timer);
  };
  // The first command measures how long one takes here.
  await runOne(identifiers[0] as string, 0);
  lifetimeMs = performance.now() - startedAtMs;
  for (let at = 1; at < commands; at += 3) {
    await Promise.all(identifiers.slice(at, at + 3).map((identifier, next) => runOne(identifier, at + next)));
  }
  children.clear();
  const rejected = identifiers.filter((identifier) => showKey(deps, identifier).state === 'rejected');
  const clock = { ...systemClock, nowMs: () => systemClock.nowMs() + LATER_MS };
  await sendDueMails({ ...deps, clock }, () => undefined);
  const mailed = smtp.received.map(({ raw }) => identifierIn(raw));
  expect([...new Set(mailed)].sort()).toEqual([...rejected].sort());
  for (const identifier of rejected) expect(mailed.filter((one) => one === identifier).length).toBeLessThanOrEqual(2);
  expect(rejected.length).toBeGreaterThan(0);
}, 120_000);

test.skipIf(NO_MOUNT !== null)(
  'a mail waits while the disk is full, and is sent once there is space',
  async () => {
    const disk = mountSmallDisk(4 * 2 ** 20);
    const smtp = await startSmtp();
    const databasePath = `${disk.folder}/profiles.db`;
    const db = openDatabase(databasePath, 'serve');
    afterAll(() => db.$client.close());
    const deps = createDeps(db, readConfig(variablesOf(databasePath, smtp.url)));
    insertProfile(db);
    const identifier = await request(deps);
    db.$client.run(
      `INSERT INTO mails (identifier, profile_id, kind, subject, body, at, next_try_at)
      VALUES (?, 1, 'rejection', 'Rejected', 'Rejected', ?, 0)`,
      [identifier, systemClock.nowMs()],
    );
    db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
    disk.fill();
    await expect(sendDueMails(deps, () => undefined)).rejects.toThrow();
    expect(smtp.received).toEqual([]);
    disk.empty();
    await sendDueMails(deps, () => undefined);
    expect(smtp.received).toHaveLength(1);
  },
  60_000,
);
