import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Signed } from '../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../shared/sign-ins/binding.ts';
import { jsonLines } from '../support/import.ts';
import { DESCRIPTION, request } from '../support/keys.ts';
import { call, expectRefused, feedCommandFor, personTokenFor, sendLines, tokenFor } from '../support/portal/manage.ts';
import { ADA, ownerWorld } from '../support/portal/owner-pages.ts';
import { serverOfPages, unescaped, visit } from '../support/portal/pages.ts';
import { tempFolder } from '../support/world.ts';

// Sentences about files are for the operator only, sentences about rules for whoever broke them, whatever the name of the
// database file.

const FULL = 'has 3 keys already';

for (const name of ['profile', 'a', 'lines', 'keys']) {
  describe(`with a database file called ${name}`, () => {
    test('pages, remote profilectl and backends get the sentences about rules', async () => {
      const world = await ownerWorld({ DATABASE_PATH: join(tempFolder(), name) });
      const { access, cookie } = world;
      for (let turn = 0; turn < 3; turn++) await request(access, { profile: 'ada' });
      const form = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' };
      const page = await visit(world, '/developers/keys/new', { cookie, form });
      expect([page.status, page.refusal, world.events]).toEqual([422, 'refused_form', []]);
      expect(unescaped(page.body)).toContain(FULL);

      const server = await serverOfPages(world, { feedCommand: feedCommandFor(access) });
      const token = personTokenFor(access, ownerToSign(access, ADA.id) as Signed);
      const body = { profile: 'ada', name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
      const answer = await call(server, '/manage/v1/keys', token, { body });
      expect(await expectRefused(answer, 409, 'not_possible')).toContain(FULL);

      const platform = tokenFor(access, { rights: ['profiles'] });
      for (const body of ['[{"id":7}]', jsonLines()]) {
        expect(await expectRefused(await sendLines(server, platform, '', body), 422, 'lines_refused')).toContain(
          'line',
        );
      }
      expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
    }, 30_000);
  });
}
