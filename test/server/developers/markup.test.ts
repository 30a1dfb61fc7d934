import { expect, test } from 'bun:test';
import { PAGE_ROUTES } from '../../../server/developers/routes.ts';
import { importLines } from '../../support/import.ts';
import { pageWorld, signInOwner, visit } from '../../support/pages.ts';

const MARK = `"'></textarea></title><script>mark()</script><img src=x onerror=mark()>\u202e`;

test('nothing that somebody sends becomes markup, on any page or refusal: path, query, fields, cookies, browser', async () => {
  const world = pageWorld();
  await importLines(world.access, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  for (const { method, path, fields = {}, query = [] } of PAGE_ROUTES) {
    // Signing out or ending sessions ends the one before.
    const signedIn = signInOwner(world.access, 7);
    const names = method === 'POST' ? Object.keys(fields) : [...query];
    const pairs = new URLSearchParams(names.map((name): [string, string] => [name, MARK]));
    for (const cookie of ['', signedIn, `flash=${MARK.replaceAll(/[;,"]/g, '')}; ${signedIn}`]) {
      const at = path.replace(/:\w+/g, encodeURIComponent(MARK));
      const sent = { cookie, headers: { 'user-agent': MARK } };
      const answer =
        method === 'POST'
          ? await visit(world, at, { ...sent, form: [...pairs] })
          : await visit(world, `${at}?${pairs}`, sent);
      expect([path, answer.body.match(/<script>mark|<img src=x|<\/title><script/)]).toEqual([path, null]);
      expect(answer.headers.filter(([, value]) => /[\r\n]|<script/.test(value))).toEqual([]);
    }
  }
});
