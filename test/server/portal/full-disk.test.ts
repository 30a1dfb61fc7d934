import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { keyRevision } from '../../../shared/keys/record.ts';
import { beginPasskeySignIn } from '../../../shared/sign-in/passkeys.ts';
import { mountSmallDisk, NO_MOUNT, type SmallDisk } from '../../faults/machine.ts';
import { filledIn } from '../../support/forms.ts';
import { DESCRIPTION, issue } from '../../support/keys.ts';
import { ADA, type ServedPages, servePages } from '../../support/pages.ts';

// The pages while the disk is full, and afterwards. Needs permission to mount.

const TYPED = { name: 'ada', address: ADA.email, next: '/developers/sessions' };
const NOT_WRITTEN = 'The server can’t store anything right now, because its disk is full or broken; nothing was done.';
const REFUSED: unknown[] = [503, 'not_written', '60', true];

/** Pages of an owner who has a key, with the database on a separate disk. */
async function worldOnDisk() {
  const disk = mountSmallDisk(4 * 1_048_576);
  const world = await servePages({ DATABASE_PATH: join(disk.folder, 'profiles.db') });
  const { identifier } = await issue(world.access, { profile: ADA.username });
  return { disk, world, identifier };
}

/** Fills the disk, and empties the database's log, which would otherwise be overwritten from its beginning. */
function fill(disk: SmallDisk, { access: { db } }: ServedPages): void {
  db.$client.run('PRAGMA wal_checkpoint(TRUNCATE)');
  disk.fill();
}

test.skipIf(NO_MOUNT !== null)(
  'while the disk is full, every form says what to do and keeps what was typed, and signing out still removes the cookie',
  async () => {
    const { disk, world, identifier } = await worldOnDisk();
    const post = async (path: string, form: Record<string, string>, cookie: string) => {
      const answer = await world.post(path, form, cookie);
      const { status, refusal, headers, body } = answer;
      const outcome: unknown[] = [status, refusal, headers.get('retry-after'), body.includes(NOT_WRITTEN)];
      return { answer, outcome, body };
    };
    const messages = () =>
      world.server.log.splice(0).flatMap(({ level, message }) => (level === 'info' ? [] : message));
    const { cookie } = world;
    const asked = await world.post('/developers/sign-in', TYPED);
    const code = { code: world.lastCode(), next: '' };
    const enter = () => post('/developers/sign-in/code', code, asked.cookie);
    world.clock.advance(60_000);
    fill(disk, world);

    const own = `/developers/keys/${identifier}`;
    const shown = keyRevision(world.access.db, identifier);
    const request = { name: 'Bot & <b>', description: DESCRIPTION, permissions: 'api.lookup', projectUrl: '' };
    for (const [path, form] of [
      ['/developers/sign-in', TYPED],
      ['/developers/keys/new', request],
      [`${own}/rename`, { name: 'Other', shown }],
      [`${own}/revoke`, { reason: 'Leaked.', shown }],
    ] as [string, Record<string, string>][]) {
      const { outcome, body } = await post(path, form, cookie);
      expect([path, outcome, filledIn(body, 'Send again').form]).toEqual([path, REFUSED, Object.entries(form)]);
      expect(body).toContain('Send it again once the problem is solved.');
    }
    expect((await post('/developers/sessions/end-all', {}, cookie)).outcome).toEqual(REFUSED);
    const { outcome, body } = await enter();
    expect([outcome, filledIn(body, 'Send again').form]).toEqual([REFUSED, Object.entries(code)]);
    // Pages are still shown, also with a session.
    for (const path of ['/developers', '/developers/keys', own, '/developers/sessions', '/developers/sign-in']) {
      expect([path, (await world.get(path, cookie)).status]).toEqual([path, 200]);
    }
    // The last use of the session is not recorded.
    expect(new Set(messages())).toEqual(
      new Set(['The last use of a session could not be recorded.', 'A request failed.']),
    );

    const signedOut = (await post('/developers/sign-out', {}, cookie)).answer;
    expect([signedOut.status, signedOut.cookies]).toEqual([
      303,
      [expect.stringMatching(/^flash=signed-out-here;/), 'session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax'],
    ]);
    const next = await world.get('/developers', 'flash=signed-out-here');
    expect(next.body).toContain('role="status">This browser is signed out, but the server could not record that.');
    expect(messages()).toContain('The end of a session could not be stored.');

    disk.empty();
    expect((await enter()).answer.status).toBe(303);
    expect((await post('/developers/sign-out', {}, cookie)).answer.status).toBe(303);
    expect((await world.get('/developers/sessions', cookie)).status).toBe(303);
    expect(messages()).toEqual([]);
  },
);

test('a failed form with a secret is not offered again, and one with a passkey’s credential comes back without it', async () => {
  const world = await servePages();
  const { challenge } = beginPasskeySignIn(world.access);
  for (const table of ['tickets', 'passkeys'])
    world.access.db.$client.run(`ALTER TABLE ${table} RENAME TO no_${table}`);
  const ticket = 'a'.repeat(43);
  const entered = await world.post('/developers/enter', { ticket });
  expect([entered.status, entered.body.includes(ticket), entered.body.includes('Send again')]).toEqual([
    500,
    false,
    false,
  ]);
  expect(entered.body).toContain('go back to the previous page and send it again');
  const clientDataJSON = Buffer.from(JSON.stringify({ challenge })).toString('base64url');
  const response = { clientDataJSON, authenticatorData: 'spentspentsp', signature: 'spentspentsp' };
  const answer = {
    id: 'spentspentsp',
    rawId: 'spentspentsp',
    type: 'public-key',
    response,
    clientExtensionResults: {},
  };
  const form = { next: '/developers/admin', credential: JSON.stringify(answer) };
  const signed = await world.post('/developers/admin/sign-in', form);
  expect([signed.status, filledIn(signed.body, 'Send again').form]).toEqual([500, [['next', '/developers/admin']]]);
  expect([signed.body.includes('spentspentsp'), signed.body.includes(clientDataJSON)]).toEqual([false, false]);
});
