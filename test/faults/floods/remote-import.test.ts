import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, PROJECT, profilectlWords } from '../../support/cli.ts';
import { importLines, jsonLines, namesById } from '../../support/import.ts';
import { startServerProcess } from '../../support/machine/server-process.ts';
import { freePort } from '../../support/network/proxy.ts';
import { testAccess } from '../../support/portal/access.ts';
import { tokenFor } from '../../support/portal/manage.ts';

/** Sent in two requests. */
const LINES = 11_000;

test('a remote import continues after the server is killed, with the same result as without a kill', async () => {
  const access = testAccess();
  const profiles = Array.from({ length: LINES }, (_, at) => ({ id: at + 1, username: `user${at}` }));
  // The first and the last line swap their names, so one of them is deferred until the end.
  const lines = [{ id: 1, username: `user${LINES - 1}` }, ...profiles.slice(1, -1), { id: LINES, username: 'user0' }];
  const both = [profiles[0], profiles.at(-1)] as { id: number; username: string }[];
  await importLines(access, both);
  const variables = { DATABASE_PATH: access.config.databasePath, PORT: String(freePort()) };
  const first = await startServerProcess(variables);
  const file = join(access.folder, 'profiles.jsonl');
  writeFileSync(file, jsonLines(...lines));
  const child = Bun.spawn(profilectlWords(['profiles', 'import', file, '--host', first.url, '--json']), {
    cwd: PROJECT,
    env: cleanEnvironment({ PROFILECTL_TOKEN: tokenFor(access), XDG_CONFIG_HOME: access.folder }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const count = access.db.$client.query<{ profiles: number }, []>('SELECT count(*) AS profiles FROM profiles');
  while ((count.get()?.profiles ?? 0) < 3_000 && child.exitCode === null) await Bun.sleep(5);
  await first.end('SIGKILL');
  expect(count.get()?.profiles).toBeLessThan(LINES);
  await startServerProcess(variables);
  const [printed, warnings] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([await child.exited, printed === '' ? warnings : JSON.parse(printed)]).toEqual([
    0,
    expect.objectContaining({ imported: LINES, refused: [] }),
  ]);
  expect(warnings).toMatch(/Warning: .* Sending the same lines again in \d/);
  const wanted = Object.fromEntries(lines.map(({ id, username }) => [id, [username]]));
  expect(Bun.deepEquals(await namesById(access), wanted)).toBe(true);
}, 120_000);
