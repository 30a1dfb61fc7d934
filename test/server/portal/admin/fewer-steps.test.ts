import { expect, test } from 'bun:test';
import { importLines } from '../../../support/import.ts';
import { request } from '../../../support/keys.ts';
import { adminWorld, formOn, hiddenIn, keyPageOf, signInAdmin, textOf } from '../../../support/portal/admin-pages.ts';
import { ask, type PageAnswer, unescaped } from '../../../support/portal/pages.ts';

// What saves admins steps: selections, fields and links that are where they are needed.

const QUEUE = '/developers/admin';
const world = await adminWorld();
const grace = await signInAdmin(world, 'Grace');
const { cookie } = grace;
const keys: string[] = [];
for (const id of [101, 102, 103]) {
  await importLines(world.access, [{ id, username: `user${id}`, email: `user${id}@example.org` }]);
  keys.push(await request(world.access, { profile: `user${id}` }));
  world.clock.advance(1);
}
const [first = '', second = '', third = ''] = keys;

const send = (form: [string, string][]) => ask(world, `${QUEUE}/decide`, { cookie, form });

/** The requests that are selected in the queue after *Cancel* on this page. */
async function selectedAfterCancel({ body }: PageAnswer): Promise<string[]> {
  const [, address = ''] = /<a class="cancel" href="([^"]+)">/.exec(body) ?? [];
  const queue = await ask(world, unescaped(address), { cookie });
  expect(queue.status).toBe(200);
  return [...queue.body.matchAll(/name="chosen" value="(\w+)"[^>]* checked/g)].map(([, key = '']) => key);
}

test('cancelling leads back to the queue with the same requests selected, from each page', async () => {
  const chosen: [string, string][] = [first, third].map((key) => ['chosen', key]);
  expect(await selectedAfterCancel(await send([...chosen, ['approve', '']]))).toEqual([first, third]);
  const reason = await send([...chosen, ['reject', '']]);
  expect(await selectedAfterCancel(reason)).toEqual([first, third]);
  const confirmation = await send([...hiddenIn(reason), ['reason', 'Say more.']]);
  expect(confirmation.body).toContain('data-passkey');
  expect(await selectedAfterCancel(confirmation)).toEqual([first, third]);
  // Also after the button of another row; with nothing selected, nothing is.
  expect(await selectedAfterCancel(await send([...chosen, ['approve', second]]))).toEqual([first, third]);
  expect(await selectedAfterCancel(await send([['approve', second]]))).toEqual([]);
});

test('the confirmation of one request leads to the form with other limits and permissions', async () => {
  const link = `<a href="${QUEUE}/keys/${first}#approve">Other limits or permissions</a>`;
  expect((await send([['approve', first]])).body).toContain(link);
  const several = keys.map((key): [string, string] => ['chosen', key]);
  expect((await send([...several, ['approve', '']])).body).not.toContain('Other limits or permissions');
  const page = await keyPageOf(world, grace, first);
  expect(page.body).toContain('<form id="approve"');
  // Other limits are typed by changing those that are offered.
  expect(page.body).toContain('name="rateLimitsOther" aria-label="Rate limits: other"');
  expect(page.body).toMatch(/name="rateLimitsOther"[^>]* value="60\/1m 5000\/1d"/);
  expect(formOn(page, 'approve')).toContainEqual(['rateLimits', '60/1m 5000/1d']);
});

test('a reason that is all that is asked for has the focus, unless a refusal has it', async () => {
  const asked = await send([['reject', first]]);
  expect(asked.body.match(/ autofocus/g)?.length).toBe(1);
  expect(asked.body).toMatch(/<textarea id="reason"[^>]* autofocus/);
  const refused = await send([...hiddenIn(asked), ['reason', '']]);
  expect(textOf(refused)).toContain('There is a problem');
  expect(refused.body).not.toMatch(/<textarea id="reason"[^>]* autofocus/);
});
