import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Signed } from '../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../shared/sign-ins/binding.ts';
import { jsonLines } from '../support/import.ts';
import { DESCRIPTION, request } from '../support/keys.ts';
import { call, expectRefused, feedCommandFor, personTokenFor, sendLines, tokenFor } from '../support/portal/manage.ts';
import { ADA, ownerWorld } from '../support/portal/owner-pages.ts';
import { pageWorld, serverOfPages, unescaped, visit } from '../support/portal/pages.ts';
import { tempFolder } from '../support/world.ts';

// Sentences about files are for the operator only, sentences about rules for whoever broke them, even if they contain the name of
// the database file.

test('with a database file called keys, pages and remote profilectl get the sentences about keys', async () => {
  const world = await ownerWorld({ DATABASE_PATH: join(tempFolder(), 'keys') });
  const { access, cookie } = world;
  for (let turn = 0; turn < 3; turn++) await request(access, { profile: 'ada' });
  const form = { name: 'Bot', description: DESCRIPTION, permissions: 'api.lookup' };
  const page = await visit(world, '/developers/keys/new', { cookie, form });
  expect([page.status, page.refusal, world.events]).toEqual([422, 'refused_form', []]);
  expect(unescaped(page.body)).toContain('has 3 keys already');

  const server = await serverOfPages(world);
  const token = personTokenFor(access, ownerToSign(access, ADA.id) as Signed);
  const body = { profile: 'ada', name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup'] };
  const answer = await call(server, '/manage/v1/keys', token, { body });
  expect(await expectRefused(answer, 409, 'not_possible')).toContain('has 3 keys already');
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
});

test('with a database file called line, backends get the sentences about lines', async () => {
  const world = pageWorld({ DATABASE_PATH: join(tempFolder(), 'line') });
  const server = await serverOfPages(world, { feedCommand: feedCommandFor(world.access) });
  const platform = tokenFor(world.access, { rights: ['profiles'] });
  for (const body of ['[{"id":7}]', jsonLines()]) {
    expect(await expectRefused(await sendLines(server, platform, '', body), 422, 'lines_refused')).toContain('line');
  }
  expect(server.log.filter(({ level }) => level === 'error')).toEqual([]);
}, 30_000);
