import { expect, test } from 'bun:test';
import { getTableColumns } from 'drizzle-orm';
import { apiKeys, events, keyAttempts, profiles } from '../../../shared/db/schema.ts';
import { get, startTestServer } from '../../support/http.ts';
import { keyFor } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { pathOf, ROUTES, SUBJECT } from '../routes.ts';

// Every private column that can hold text is filled with a marker; no route may return any marker.

const METRICS_TOKEN = 'a-token-for-metrics';
const server = await startTestServer({
  variables: { CONTACT: 'https://example.org/security', METRICS_TOKEN },
});
const { db } = server.deps;
const { secret, identifier } = await keyFor(server.deps, ['1000000/1s']);

const marker = (column: string) => `private-${column}-marker`;
const MARKERS: string[] = [];

function fill(table: string, columns: readonly string[], where: string): void {
  for (const column of columns) {
    MARKERS.push(marker(column));
    db.$client.run(`UPDATE ${table} SET ${column} = ?1 WHERE ${where}`, [marker(column)]);
  }
}

test('no route reveals a private column, in body or headers', async () => {
  // A new private column has to be filled below.
  const own = Object.keys(getTableColumns(profiles));
  const served = ['id', 'profile', 'links', 'username', 'banned', 'views'];
  expect(own.filter((column) => !served.includes(column)).sort()).toEqual(
    [
      ...['authId', 'email', 'followersCount', 'revision'],
      ...['showFollowersCount', 'showOnLeaderboard', 'writtenAt'],
    ].sort(),
  );
  insertProfile(db, { ...SUBJECT, followersCount: 424_242, showFollowersCount: false, viewsCount: 9 });
  fill('profiles', ['email'], `id = ${SUBJECT.id}`);
  db.$client.run(`UPDATE profiles SET revision = 31337, written_at = 31337 WHERE id = ${SUBJECT.id}`);
  fill('api_keys', ['description', 'project_url', 'expected_usage'].slice(1), `identifier = '${identifier}'`);
  db.$client.run(`UPDATE api_keys SET description = ? WHERE identifier = ?`, [
    marker('description').padEnd(80),
    identifier,
  ]);
  MARKERS.push(marker('description'), '424242', '31337', SUBJECT.authId, secret.slice(13));
  for (const table of [apiKeys, keyAttempts, events])
    expect(Object.keys(getTableColumns(table)).length).toBeGreaterThan(5);

  for (const route of ROUTES) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const path = pathOf(route);
      for (const at of [path, `${path}${path.includes('?') ? '&' : '?'}nope=1`]) {
        const token = route.path === '/metrics' ? METRICS_TOKEN : secret;
        const answer = await get(server, at, token, { method });
        if (method === 'GET' && at === path) expect([route.path, answer.status < 400]).toEqual([route.path, true]);
        const sent = `${await answer.text()} ${JSON.stringify([...answer.headers])}`;
        for (const text of MARKERS) expect(sent).not.toContain(text);
      }
    }
  }
  for (const text of MARKERS) expect(JSON.stringify(server.log)).not.toContain(text);
});
