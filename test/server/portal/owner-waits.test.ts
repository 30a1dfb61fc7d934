import { describe, expect, test } from 'bun:test';
import { createPortalServices } from '../../../server/portal/services.ts';
import { DESCRIPTION, keysListed, request, waitingWhile } from '../../support/keys.ts';
import { ADA, ask, ownerWorld, visit } from '../../support/pages.ts';
import { changeByHand } from '../../support/profiles.ts';
import { emptyLimits } from '../../support/storage.ts';

// While an owner's form waits for the write lock, the profile's owner changes.

const REQUEST = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' };

/** The path and the fields of an owner's form, and the same as a request under /manage/v1. */
const ACTIONS = {
  request: [() => '/developers/keys/new', REQUEST, 'POST', () => '/keys', { ...REQUEST, permissions: ['api.lookup'] }],
  rename: [(id) => `/developers/keys/${id}/rename`, { name: 'Mine' }, 'PATCH', (id) => `/keys/${id}`, { name: 'Mine' }],
} satisfies Record<
  string,
  [(id: string) => string, Record<string, string>, 'POST' | 'PATCH', (id: string) => string, object]
>;

// test/shared/keys/revision.test.ts tries all operations and changes.
describe.each(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])(
  '%s, if the e-mail address has changed before the lock is released',
  (name) => {
    const [formPath, form, _method, _path, _body] = ACTIONS[name];
    /** A world in which that happens, and its key; `expectNothing` checks that nothing was stored after it happened. */
    async function world() {
      const { access, cookie } = await ownerWorld();
      const identifier = await request(access, { profile: ADA.username });
      const traces = () => JSON.stringify([keysListed(access), access.db.$client.query('SELECT * FROM mails').all()]);
      let before = '';
      const late = waitingWhile(access, () => {
        changeByHand(access, ADA.username, { email: 'new@example.org' });
        before = traces();
      });
      const services = createPortalServices(
        () => late,
        late.clock,
        () => undefined,
        emptyLimits(late.clock),
      );
      const expectNothing = () => expect([before === '', traces()]).toEqual([false, before]);
      return { access, cookie, identifier, services, expectNothing };
    }

    test('the page says that the owner is signed out, and nothing is done', async () => {
      const { cookie, identifier, services, expectNothing } = await world();
      const answer = await visit({ services }, formPath(identifier), { form, cookie });
      expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
      expect(answer.body).toContain('You are not signed in, or your session has expired; nothing was done.');
      expectNothing();
      expect((await ask({ services }, '/developers/keys', { cookie })).status).toBe(303);
    });
  },
);
