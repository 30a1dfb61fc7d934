import { expect, test } from 'bun:test';
import { keyRevision } from '../../../../shared/keys/revision.ts';
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

const versions = keys.map((key): [string, string] => ['shown', `${key} ${keyRevision(world.access.db, key)}`]);
const send = (form: [string, string][]) => ask(world, `${QUEUE}/decide`, { cookie, form: [...versions, ...form] });

/** The requests that are selected in the queue after *Cancel* on this page. */
async function selectedAfterCancel({ body }: PageAnswer): Promise<string[]> {
  const [, address = ''] = /<a class="cancel" href="([^"]+)">/.exec(body) ?? [];
  const queue = await ask(world, unescaped(address), { cookie });
  expect(queue.status).toBe(200);
  return [...queue.body.matchAll(/name="chosen" value="(\w+)"[^>]* checked/g)].map(([, key = '']) => key);
}

test('cancelling leads back to the queue with the same requests chosen', async () => {
  const chosen: [string, string][] = [first, third].map((key) => ['chosen', key]);
  expect(await selectedAfterCancel(await send([...chosen, ['reject', '']]))).toEqual([first, third]);
  // The button of a row is for its request alone.
  expect(await selectedAfterCancel(await send([...chosen, ['reject', second]]))).toEqual([second]);
});

test('a link chooses all requests, another none', async () => {
  const chosenAt = async (path: string) => {
    const { body } = await ask(world, path, { cookie });
    const [, all] = /href="([^"]+)">Choose all/.exec(body) ?? [];
    const [, none] = /href="([^"]+)">Choose none/.exec(body) ?? [];
    return { count: body.match(/ checked>/g)?.length ?? 0, all: all ?? '', none: none ?? '' };
  };
  const { count, all } = await chosenAt(QUEUE);
  const chosen = await chosenAt(all);
  expect([count, chosen.count, (await chosenAt(chosen.none)).count]).toEqual([0, 3, 0]);
});

test('other limits are typed by changing those that are offered', async () => {
  const page = await keyPageOf(world, grace, first);
  expect(page.body).toContain('<form id="approve"');
  expect(page.body).toContain('name="rateLimitsOther" aria-label="Rate limits: other"');
  expect(page.body).toMatch(/name="rateLimitsOther"[^>]* value="60\/1m 5000\/1d"/);
  expect(formOn(page, 'approve')).toContainEqual(['rateLimits', '60/1m 5000/1d']);
});

test('a reason that is all that is asked for has the focus, unless a refusal has it', async () => {
  const asked = await send([['reject', first]]);
  expect(asked.body.match(/ autofocus/g)?.length).toBe(1);
  expect(asked.body).toMatch(/<textarea id="reason"[^>]* autofocus/);
  const refused = await ask(world, `${QUEUE}/decide`, { cookie, form: [...hiddenIn(asked), ['reason', '']] });
  expect(textOf(refused)).toContain('There is a problem');
  expect(refused.body).not.toMatch(/<textarea id="reason"[^>]* autofocus/);
});
