import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { openAsItIs } from '../../../shared/db/connect.ts';
import { openDatabase } from '../../../shared/files/open.ts';
import { keyRevision } from '../../../shared/keys/record.ts';
import { filledIn } from '../../support/forms.ts';
import { request } from '../../support/keys.ts';
import { nextVersion, type ServerProcess, startServerProcess } from '../../support/machine.ts';
import { ADA, fetchPage, signInOwner } from '../../support/pages.ts';
import { importLines } from '../../support/profiles.ts';
import { tempFolder, testDeps } from '../../support/world.ts';

// A page was opened before its server stopped, was upgraded or could not write. Afterwards its form still works,
// without another sign-in and without typing again.

/** A database with a key whose owner is signed in; no process has it open. */
async function prepare() {
  const DATABASE_PATH = join(tempFolder(), 'profiles.db');
  openDatabase(DATABASE_PATH, 'serve').$client.close();
  const access = testDeps({ variables: { DATABASE_PATH } });
  await importLines(access, [ADA]);
  const identifier = await request(access, { profile: ADA.username });
  const headers = { cookie: signInOwner(access, ADA.id) };
  // The form is open from the beginning.
  let shown = keyRevision(access.db, identifier);
  access.db.$client.close();
  const path = `/developers/keys/${identifier}/rename`;
  const start = (words?: readonly string[]) => startServerProcess({ DATABASE_PATH }, words && { words });
  const expectForm = async (server: ServerProcess) => {
    const answer = await fetchPage(server, path, { headers });
    expect(answer.status).toBe(200);
    expect(answer.body).toContain(`action="${path}"`);
    shown = /name="shown" value="([^"]+)"/.exec(answer.body)?.[1] ?? '';
  };
  const send = (server: ServerProcess, name: string) =>
    fetchPage(server, path, { method: 'POST', body: new URLSearchParams({ name, shown }), headers });
  const nameIn = (at: string) => {
    const sqlite = openAsItIs(at, 'write');
    const row = sqlite.query('SELECT name FROM api_keys').get();
    sqlite.close();
    return row;
  };
  return { DATABASE_PATH, start, expectForm, send, nameIn };
}

test('a form that was open during a stop, a kill and a lock still works afterwards, with the typed text', async () => {
  const { DATABASE_PATH, start, expectForm, send, nameIn } = await prepare();
  let server = await start();
  await expectForm(server);
  expect(await server.end()).toBe(0);
  server = await start();
  expect((await send(server, 'After a stop')).status).toBe(303);
  expect(nameIn(DATABASE_PATH)).toEqual({ name: 'After a stop' });
  await expectForm(server);
  await server.end('SIGKILL');
  expect(await send(server, 'Into the void').catch(() => null)).toBeNull();
  server = await start();
  expect((await send(server, 'After a kill')).status).toBe(303);
  await expectForm(server);

  const other = openAsItIs(DATABASE_PATH, 'write');
  other.run('BEGIN IMMEDIATE');
  const refused = await send(server, 'After <a> lock');
  expect([refused.status, refused.refusal]).toEqual([503, 'busy']);
  expect(refused.body).toContain('The database is busy; try again.');
  expect(filledIn(refused.body, 'Send again').form[0]).toEqual(['name', 'After <a> lock']);
  other.run('ROLLBACK');
  other.close();
  const [[, typed]] = filledIn(refused.body, 'Send again').form as [[string, string]];
  expect((await send(server, typed)).status).toBe(303);
  expect(nameIn(DATABASE_PATH)).toEqual({ name: 'After <a> lock' });
}, 60_000);

test('a form that was open during an upgrade with a migration works afterwards, in the same session', async () => {
  const { DATABASE_PATH, start, expectForm, send, nameIn } = await prepare();
  const server = await start([...nextVersion().words, 'serve']);
  expect(server.printed()).toMatch(/copied|migrated|upgraded/i);
  expect((await send(server, 'After an upgrade')).status).toBe(303);
  await expectForm(server);
  expect(nameIn(DATABASE_PATH)).toEqual({ name: 'After an upgrade' });
}, 60_000);
