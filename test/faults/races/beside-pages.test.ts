import { expect, test } from 'bun:test';
import { openBare } from '../../../shared/db/connect.ts';
import { KEYS_PER_PROFILE } from '../../../shared/keys/key.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { profilectl } from '../../support/cli.ts';
import { importLines, jsonLines } from '../../support/import.ts';
import { DESCRIPTION, keysListed, request } from '../../support/keys.ts';
import { startSmtp } from '../../support/mail/smtp.ts';
import {
  APPROVAL,
  adminWorld,
  askToDecide,
  sendDecision,
  signInAdmin,
  withPasskey,
} from '../../support/portal/admin-pages.ts';
import { ADA, ownerWorld } from '../../support/portal/owner-pages.ts';
import { valuesOf, visit } from '../../support/portal/pages.ts';

// Pages in this process and commands in others, on the same database.

const FORM = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' };

test('commands and pages that compete for the slots of a profile never use more than three', async () => {
  const { access, services, cookie } = await ownerWorld();
  const variables = { DATABASE_PATH: access.config.databasePath, MAIL_URL: `file:${access.folder}/mail` };
  const words = ['keys', 'request', '--profile', ADA.username, '--name', 'Bot', '--description', DESCRIPTION];
  let isDone = false;
  const commands = Promise.all(
    Array.from({ length: 4 }, () => profilectl([...words, '--permission', 'api.lookup'], { variables })),
  ).finally(() => {
    isDone = true;
  });
  // Pages free and use slots until the last command has ended.
  const codes = new Set<string | null>();
  while (!isDone) {
    const answer = await visit({ services }, '/developers/keys/new', { form: FORM, cookie });
    const { refusal } = answer;
    codes.add(refusal);
    const [location = ''] = valuesOf(answer, 'location');
    const held = await keysListed(access, { states: ['pending'] });
    expect(held.length).toBeLessThanOrEqual(KEYS_PER_PROFILE);
    if (refusal === null && held.length < KEYS_PER_PROFILE)
      await visit({ services }, `${location}/withdraw`, { form: {}, cookie });
    await Bun.sleep(5);
  }
  const done = await commands;
  for (const { code, stderr } of done) expect([code === 0, stderr.includes('has 3 keys already')]).toContain(true);
  expect(done.some(({ code }) => code === 0)).toBe(true);
  expect((await keysListed(access, { states: ['pending'] })).length).toBeLessThanOrEqual(KEYS_PER_PROFILE);
  // In any order, pages requested at most five keys; requests by the operator do not count.
  for (let turn = 0; turn < 8; turn++) {
    for (const { identifier } of await keysListed(access, { states: ['pending'] })) {
      await visit({ services }, `/developers/keys/${identifier}/withdraw`, { form: {}, cookie });
    }
    await visit({ services }, '/developers/keys/new', { form: FORM, cookie });
  }
  const asked = access.db.$client.query(
    "SELECT by_kind AS kind, count(*) AS n FROM key_events WHERE event = 'requested' GROUP BY 1 ORDER BY 1",
  );
  expect(asked.all()).toEqual([
    { kind: 'operator', n: done.filter(({ code }) => code === 0).length },
    { kind: 'owner', n: 5 },
  ]);
}, 60_000);

test('no mail goes to a new address that an import sets while an admin’s decision waits for the import', async () => {
  const smtp = await startSmtp();
  const world = await adminWorld({ MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
  const { access } = world;
  const grace = await signInAdmin(world, 'Grace');
  const variables = { DATABASE_PATH: access.config.databasePath };
  const others = Array.from({ length: 200 }, (_, at) => ({ id: 1_000 + at, username: `other${at}` }));
  // On a slow machine the import may hold the lock for longer than pages wait, which is not tested here.
  access.db.$client.run('PRAGMA busy_timeout = 30000');
  const lock = openBare(access.config.databasePath, 'write');
  lock.run('PRAGMA busy_timeout = 0');
  const isLocked = () => {
    try {
      lock.run('BEGIN IMMEDIATE');
      lock.run('ROLLBACK');
      return false;
    } catch {
      return true;
    }
  };
  for (const [id, moment] of (['before', 'during', 'after'] as const).entries()) {
    const profile = { id: 50 + id, username: `user${50 + id}`, email: 'old@example.org' };
    await importLines(access, [profile]);
    const identifier = await request(access, { profile: profile.username });
    const page = await askToDecide(world, grace, identifier, APPROVAL);
    const form = withPasskey(page, grace.authenticator);
    const decide = () => sendDecision(world, grace, identifier, form);
    const importNow = async () => {
      const stdin = jsonLines(
        { ...profile, email: 'new@example.org' },
        ...others.map((one) => ({ ...one, links: [] })),
      );
      const { code, stderr } = await profilectl(['profiles', 'import', '-', '--strict'], { variables, stdin });
      expect([code, stderr.includes('refused')]).toEqual([0, false]);
    };
    let importing: Promise<void> | null = null;
    if (moment === 'after') await importNow();
    // The import holds the lock from its first line to its commit; the decision waits.
    if (moment === 'during') {
      importing = importNow();
      while (!isLocked()) await Bun.sleep(1);
    }
    const answer = await decide();
    await visit(world, '/developers');
    if (moment === 'before') await importNow();
    await importing;
    expect([moment, answer.status, answer.refusal]).toEqual(
      moment === 'before' ? [moment, 303, null] : [moment, 409, 'changed_since'],
    );
    const { state, addressChangedAt } = showKey(access, identifier);
    expect([moment, state]).toEqual([moment, moment === 'before' ? 'Active' : 'pending']);
    if (moment !== 'before') expect(addressChangedAt).not.toBeNull();
  }
  lock.close();
  expect(smtp.received.filter(({ to }) => to.join() !== 'old@example.org')).toEqual([]);
  expect(smtp.received).toHaveLength(1);
}, 60_000);
