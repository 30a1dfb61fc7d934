import { expect, test } from 'bun:test';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { importLines } from '../../../support/import.ts';
import { issue, request } from '../../../support/keys.ts';
import { adminWorld, signInAdmin, textOf } from '../../../support/portal/admin-pages.ts';
import { visit } from '../../../support/portal/pages.ts';

// The search field above the list of keys.

const world = await adminWorld();
const { access } = world;
const { cookie } = await signInAdmin(world, 'Grace');
await importLines(access, [
  { id: 20, username: 'Łukasz', aliases: ['wanda'], email: 'Lukasz@Example.org' },
  { id: 21, username: 'lukas', email: 'other@example.org' },
]);
const { identifier: active } = await issue(access, { profile: 'wanda', name: 'Discord role sync' });
const pending = await request(access, { profile: 'lukas', name: '100%_sure' });

/** The identifiers of the keys that the search finds, in order. */
async function found(text: string, more = ''): Promise<string[]> {
  const { body } = await visit(world, `/developers/admin/keys?find=${encodeURIComponent(text)}${more}`, { cookie });
  return [...body.matchAll(/<th scope="row"><a href="\/developers\/admin\/keys\/(\w{8})"><bdi>/g)].map(
    ([, one = '']) => one,
  );
}

test.each([
  ['its identifier, in any case', () => active.toLowerCase(), [active]],
  ['a part of its name', () => 'ROLE', [active]],
  ['the beginning of its profile’s username, folded', () => 'łUK', [active]],
  ['the beginning of an alias', () => 'wan', [active]],
  ['the beginning of its username, but not of a similar one', () => 'luk', [pending]],
  ['the profile’s address, in any case', () => 'lukasz@example.ORG', [active]],
  ['a part of its name with white space around it', () => '  role ', [active]],
  ['characters that SQL would treat as wildcards', () => '%_', [pending]],
])('a key is found by %s', async (_, text, keys) => {
  expect(await found(text())).toEqual(keys);
});

test.each(['asz', 'example.org', 'lukasz@example', '%', "' OR 1=1 --", '\u0000'.repeat(2), 'x'.repeat(300)])(
  'a search for %j finds nothing',
  async (text) => {
    expect(await found(text === '%' ? '%%' : text)).toEqual([]);
  },
);

test('the search text stays in the field, as text, and results can be filtered by state', async () => {
  expect(await found('luk', '&state=pending')).toEqual([pending]);
  expect(await found('luk', '&state=Active')).toEqual([]);
  const page = await visit(world, `/developers/admin/keys?find=${encodeURIComponent('"><b>mark')}`, { cookie });
  expect(textOf(page)).toContain('No key matches “"><b>mark”');
  expect(page.body).toContain('value="&quot;&gt;&lt;b&gt;mark"');
  expect(page.body).not.toContain('<b>mark');
});

test('an erased key is listed under its identifier', async () => {
  await importLines(access, [{ id: 22, username: 'gone', email: 'gone@example.org' }]);
  const { identifier } = await issue(access, { profile: 'gone' });
  eraseProfile(access, 'gone', onBox('root'));
  const { body } = await visit(world, '/developers/admin/keys?state=revoked', { cookie });
  expect(body).toContain(
    `<a href="/developers/admin/keys/${identifier}"><bdi>${identifier}</bdi></a><br><span class="meta">erased</span></th>`,
  );
});
