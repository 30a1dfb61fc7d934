import { expect, test } from 'bun:test';
import { getTableColumns } from 'drizzle-orm';
import { apiKeys, keyAttempts, keyEvents } from '../../../shared/db/schema/keys.ts';
import { links } from '../../../shared/db/schema/profiles.ts';
import { COLUMN_LIST } from '../../../shared/profiles/field-values.ts';
import { get, startTestServer } from '../../support/http.ts';
import { insertProfile } from '../../support/profiles.ts';
import { keyFor, pathOf, ROUTES, SUBJECT, withQuery } from '../../support/requests.ts';

// Every private column that can hold text is filled with a marker; no route may return any marker.

const METRICS_TOKEN = 'a-token-for-metrics';
const server = await startTestServer({
  variables: { CONTACT: 'https://example.org/security', METRICS_TOKEN },
});
const { db } = server.deps;
const { secret, identifier } = await keyFor(server.deps, ['1000000/1s']);

const marker = (column: string) => `private-${column}-marker`;
const MARKERS: string[] = [];

function fill(table: string, columns: readonly string[], where: string, isJson = false): void {
  for (const column of columns) {
    MARKERS.push(marker(column));
    const value = isJson ? JSON.stringify({ [marker(column)]: true }) : marker(column);
    db.$client.run(`UPDATE ${table} SET ${column} = ?1 WHERE ${where}`, [value]);
  }
}

test('no route reveals a private column, in body or headers', async () => {
  const hidden = COLUMN_LIST.filter(({ isPublic }) => !isPublic);
  expect(hidden.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['authId', 'email', 'showFollowersCount', 'showOnLeaderboard']),
  );
  insertProfile(db, { ...SUBJECT, followersCount: 424_242, showFollowersCount: false, viewsCount: 9 });
  db.insert(links).values({ profileId: SUBJECT.id, position: 31_337, id: 'l1', name: 'n', link: 'https://x' }).run();
  // Lookups need the auth ID unchanged; it is one of the markers below.
  const texts = hidden.filter(({ form, kind }) => (form === 'text' || form === 'json') && kind !== 'authId');
  expect(texts.length).toBeGreaterThan(0);
  for (const { column, form } of texts) fill('profiles', [column], `id = ${SUBJECT.id}`, form === 'json');
  fill('api_keys', ['description', 'project_url', 'expected_usage'].slice(1), `identifier = '${identifier}'`);
  db.$client.run(`UPDATE api_keys SET description = ? WHERE identifier = ?`, [
    marker('description').padEnd(80),
    identifier,
  ]);
  MARKERS.push(marker('description'), '424242', '31337', SUBJECT.authId, secret.slice(13));
  for (const table of [apiKeys, keyAttempts, keyEvents])
    expect(Object.keys(getTableColumns(table)).length).toBeGreaterThan(5);

  for (const route of ROUTES) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      for (const path of [pathOf(route), withQuery(pathOf(route), 'nope=1')]) {
        const token = route.path === '/metrics' ? METRICS_TOKEN : secret;
        const answer = await get(server, path, token, { method });
        if (method === 'GET' && path === pathOf(route))
          expect([route.path, answer.status < 400]).toEqual([route.path, true]);
        const sent = `${await answer.text()} ${JSON.stringify([...answer.headers])}`;
        for (const text of MARKERS) expect(sent).not.toContain(text);
      }
    }
  }
  for (const text of MARKERS) expect(JSON.stringify(server.log)).not.toContain(text);
});
