import { expect, test } from 'bun:test';
import { createPortalServices } from '../../../server/portal/services.ts';
import { DESCRIPTION, keysListed, request, waitingWhile } from '../../support/keys.ts';
import { ADA, ask, ownerWorld, visit } from '../../support/pages.ts';
import { changeByHand } from '../../support/profiles.ts';
import { emptyLimits } from '../../support/storage.ts';

// test/shared/keys tries all operations and changes.
test.each([
  ['request', () => '/new', { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' }],
  ['rename', (identifier: string) => `/${identifier}/rename`, { name: 'Mine' }],
] as [string, (identifier: string) => string, Record<string, string>][])(
  '%s: if the address changes while the form waits for the lock, the page says that the owner is signed out, and nothing is done',
  async (_, pathOf, form) => {
    const { access, cookie } = await ownerWorld();
    const identifier = await request(access, { profile: ADA.username });
    const traces = () => JSON.stringify([keysListed(access), access.db.$client.query('SELECT * FROM mails').all()]);
    let before = '';
    const late = waitingWhile(access, () => {
      changeByHand(access, ADA.username, { email: 'new@example.org' });
      before = traces();
    });
    const services = createPortalServices(late, () => undefined, emptyLimits(late.clock));
    const answer = await visit({ services }, `/developers/keys${pathOf(identifier)}`, { form, cookie });
    expect([answer.status, answer.refusal]).toEqual([403, 'signed_out']);
    expect(answer.body).toContain('You are not signed in, or your session has expired; nothing was done.');
    expect([before === '', traces()]).toEqual([false, before]);
    expect((await ask({ services }, '/developers/keys', { cookie })).status).toBe(303);
  },
);
