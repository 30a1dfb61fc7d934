import { describe, expect, test } from 'bun:test';
import { createPortalServices } from '../../../../server/portal/services.ts';
import { listKeys } from '../../../../shared/keys/view.ts';
import type { Signed } from '../../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../../shared/sign-ins/binding.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { changeByHand } from '../../../support/import.ts';
import { DESCRIPTION, issue, request, waitingWhile } from '../../../support/keys.ts';
import { personTokenFor } from '../../../support/portal/manage.ts';
import { ADA, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { ask, visit } from '../../../support/portal/pages.ts';

// While an owner's form waits for the write lock, the profile's owner changes.

const REQUEST = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' };

/** The path and the fields of an owner's form, and the same as a request under /manage/v1. */
const ACTIONS = {
  request: [() => '/developers/keys/new', REQUEST, 'POST', () => '/keys', { ...REQUEST, permissions: ['api.lookup'] }],
  rename: [(id) => `/developers/keys/${id}/rename`, { name: 'Mine' }, 'PATCH', (id) => `/keys/${id}`, { name: 'Mine' }],
  withdraw: [(id) => `/developers/keys/${id}/withdraw`, {}, 'POST', (id) => `/keys/${id}/withdraw`, {}],
  revoke: [(id) => `/developers/keys/${id}/revoke`, { reason: '' }, 'POST', (id) => `/keys/${id}/revoke`, {}],
} satisfies Record<
  string,
  [(id: string) => string, Record<string, string>, 'POST' | 'PATCH', (id: string) => string, object]
>;

const CHANGES = {
  'the e-mail address has changed': (deps) => void changeByHand(deps, 'ada', () => ({ email: 'new@example.org' })),
  'the profile has been erased': (deps) => void eraseProfile(deps, 'ada', onBox('root')),
} satisfies Record<string, (deps: Parameters<typeof changeByHand>[0]) => void>;

describe.each(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])('%s', (name) => {
  const [formPath, form, method, path, body] = ACTIONS[name];
  describe.each(Object.keys(CHANGES) as (keyof typeof CHANGES)[])('if %s before the lock is released', (what) => {
    /** A world in which that happens, and its key; `expectNothing` checks that nothing was stored after it happened. */
    async function world() {
      const { access, cookie } = await ownerWorld();
      const identifier =
        name === 'revoke'
          ? (await issue(access, { profile: ADA.username })).identifier
          : await request(access, { profile: ADA.username });
      const traces = () =>
        JSON.stringify([listKeys(access, {}), access.db.$client.query('SELECT * FROM notices').all()]);
      let before = '';
      const late = waitingWhile(access, () => {
        CHANGES[what](access);
        before = traces();
      });
      const services = createPortalServices(late, () => undefined);
      return {
        access,
        cookie,
        identifier,
        services,
        expectNothing: () => expect([before === '', traces()]).toEqual([false, before]),
      };
    }

    test('the page says that the owner is signed out, and nothing is done', async () => {
      const { cookie, identifier, services, expectNothing } = await world();
      const answer = await visit({ services }, formPath(identifier), { form, cookie });
      expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
      expect(answer.body).toContain('You are no longer signed in, because the ');
      expectNothing();
      expect((await ask({ services }, '/developers/keys', { cookie })).status).toBe(303);
    });

    test('the token of profilectl is invalid, and nothing is done', async () => {
      const { access, identifier, services, expectNothing } = await world();
      const token = personTokenFor(access, ownerToSign(access, ADA.id) as Signed);
      const answer = await ask({ services }, `/manage/v1${path(identifier)}`, {
        method,
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      });
      expect([answer.status, answer.refusal]).toEqual([401, 'invalid_token']);
      expectNothing();
    });
  });
});
