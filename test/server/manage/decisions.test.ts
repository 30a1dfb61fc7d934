import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { issue, request } from '../../support/keys.ts';
import { adminToSign } from '../../support/portal/access.ts';
import { adminWorld, signInAdmin } from '../../support/portal/admin-pages.ts';
import { call, expectRefused, personTokenFor } from '../../support/portal/manage.ts';
import { serverOfPages, visit } from '../../support/portal/pages.ts';
import { drawQuarter, seededRandom } from '../../support/rounds.ts';

// A token can't decide on a key: an admin's request is refused with the URL of the page on which to decide.

const ORIGIN = 'http://localhost:3000';
const world = await adminWorld();
const { access } = world;
const server = await serverOfPages(world);
await importLines(access, [{ id: 8, username: 'bea', email: 'bea@example.org' }]);
const grace = await signInAdmin(world, 'Grace');
const token = personTokenFor(access, adminToSign(access, 'Grace') as Signed);

const ask = (identifier: string, operation: string, body: unknown = {}) =>
  call(server, `/manage/v1/keys/${identifier}/${operation}`, token, { method: 'POST', body });

const LIMITS = [{ quota: 7, windowSeconds: 60 }];
const GRANT = { permissions: ['api.lookup'], rateLimits: LIMITS, expiresAt: '2026-12-31T00:00:00Z' };

/** Complete, empty and malformed bodies. */
const BODIES: unknown[] = [
  ...[
    { reason: 'No.' },
    {},
    { reason: null },
    { reason: 7 },
    GRANT,
    { retireOldAt: '2026-02-01T00:00:00Z' },
    { rateLimits: 'many' },
    { expiresAt: 'soon' },
  ],
  ...[{ more: true }, [], '{'],
];

/** Everything in both files that a decision could have changed, without the last uses of tokens and sent mails. */
function traces(): string {
  const tablesOf = (sqlite: Database) =>
    sqlite
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
      .all()
      .map(({ name }) => name)
      .filter((name) => name !== 'person_tokens' && name !== 'mails');
  const files = [access.db.$client, access.sessions.sqlite];
  return JSON.stringify(
    files.map((sqlite) => tablesOf(sqlite).map((name) => sqlite.query(`SELECT * FROM ${name}`).all())),
  );
}

const pending = await request(access, { profile: 'bea' });
const { identifier: active } = await issue(access, { profile: 'bea' });

const chance = seededRandom('bodies of decisions');

describe('an admin’s token alone can’t decide', () => {
  for (const { name: operation } of DECISIONS) {
    test(`${operation}: whatever the body and the state of the key, the refusal has the URL of the key’s page`, async () => {
      const before = traces();
      for (const identifier of [pending, active]) {
        const address = `${ORIGIN}/developers/admin/keys/${identifier}`;
        for (const body of drawQuarter(BODIES, chance)) {
          const answer = await ask(identifier, operation, body);
          const refused = (await answer.json()) as { error: string; address: string };
          expect([answer.status, answer.headers.get('x-error-code')]).toEqual([403, 'decision_needed']);
          expect(refused.error).toContain('passkey');
          expect(refused.address).toBe(address);
        }
        const page = await visit(world, address.slice(ORIGIN.length), { cookie: grace.cookie });
        expect(page.status).toBe(200);
      }
      expect(traces()).toBe(before);
      await expectRefused(await ask('..%2F..', operation), 404, 'not_found');
    });
  }

  test('the refusal is sent even while both files are locked, and for the key of an erased profile', async () => {
    const identifier = await request(access, { profile: 'bea' });
    for (const path of [access.config.databasePath, access.sessions.path]) {
      using other = new Database(path);
      other.run('BEGIN IMMEDIATE');
      expect((await ask(identifier, 'approve')).headers.get('x-error-code')).toBe('decision_needed');
      other.run('ROLLBACK');
    }
    eraseProfile(access, 'bea', onBox('root'));
    expect((await ask(identifier, 'approve')).headers.get('x-error-code')).toBe('decision_needed');
  });
});
