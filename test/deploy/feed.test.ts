import { afterAll, describe, expect, test } from 'bun:test';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ExportedProfile } from '../../shared/profiles/field-values.ts';
import { commandEnvironment, type Finished, PROJECT, profilectlWords } from '../support/cli.ts';
import { get } from '../support/http.ts';
import { exportText, importLines } from '../support/import.ts';
import { issue } from '../support/keys.ts';
import { OWNER, type Postgres, postgresFolder, startPostgres } from '../support/machine/postgres.ts';
import { feedCommandFor, tokenFor } from '../support/portal/manage.ts';
import { pageWorld, serverOfPages } from '../support/portal/pages.ts';
import { drawHalf, drawQuarter, seededRandom } from '../support/rounds.ts';

// deploy/feed/, run against a real PostgreSQL and a real server.

const FEED = join(PROJECT, 'deploy/feed');
const ROLE = 'profile-lookup-feed';

/** The platform's tables, as docs/fresh.md assumes them. */
const TABLES = `
CREATE TABLE users (
  id bigint PRIMARY KEY,
  name text NOT NULL UNIQUE DEFERRABLE,
  auth_id text UNIQUE,
  email text,
  display_name text NOT NULL DEFAULT 'Somebody',
  avatar_url text,
  banner_url text,
  theme json NOT NULL DEFAULT '{}',
  banned boolean,
  views bigint NOT NULL DEFAULT 0,
  show_on_leaderboard boolean,
  created_at timestamptz NOT NULL DEFAULT '2024-05-01T12:00:00.123456+02',
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE deleted_users (id bigint PRIMARY KEY, deleted_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE links (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE,
  position integer NOT NULL DEFAULT 0,
  name text NOT NULL,
  url text NOT NULL
);
CREATE TABLE aliases (
  name text PRIMARY KEY,
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE TABLE badges (
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE ON UPDATE CASCADE,
  name text NOT NULL,
  enabled boolean NOT NULL DEFAULT true
);
CREATE ROLE backend LOGIN;
GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON users, aliases, badges, links TO backend;
INSERT INTO users (id, name, email, auth_id, theme) VALUES
  (1, 'ada', 'ada@example.org', 'auth0|ada', E'{\\n"accent": "#fff"\\n}'), (2, 'bea', 'bea@example.org', NULL, '{}'),
  (3, 'cem', NULL, NULL, '{}');
INSERT INTO users (id, name) VALUES (4, 'dan'), (5, 'eve'), (6, 'fay'), (7, 'gus');
INSERT INTO aliases (name, user_id) VALUES ('lovelace', 1), ('countess', 1);
INSERT INTO badges (user_id, name, enabled) VALUES (1, 'early', true), (1, 'donor', false);
INSERT INTO links (user_id, name, url) VALUES (1, 'code', 'https://code.example.org/ada');
`;

/** What lookups should return for each user, read from the tables without the log. */
const WANTED = `
SELECT coalesce(json_agg(json_build_object('id', id, 'username', name, 'email', email, 'viewsCount', views,
  'authId', auth_id, 'assets', json_build_object('avatar', avatar_url, 'banner', banner_url),
  'banned', coalesce(banned, false), 'showOnLeaderboard', coalesce(show_on_leaderboard, true),
  'aliases', ARRAY(SELECT name FROM aliases WHERE user_id = users.id ORDER BY name),
  'badges', ARRAY(SELECT json_build_object('name', name, 'enabled', enabled) FROM badges WHERE user_id = users.id ORDER BY name),
  'links', ARRAY(SELECT name FROM links WHERE user_id = users.id ORDER BY position)) ORDER BY id), '[]')
FROM users`;

/** The fields that both sides have; of links only the names. */
type Wanted = (Omit<ExportedProfile, NotCompared | 'links'> & { links: string[] })[];

/** Fields that the platform's tables lack, or store in another form. */
type NotCompared =
  | 'displayName'
  | 'customize'
  | 'discordID'
  | 'discordClean'
  | 'followersCount'
  | 'showFollowersCount'
  | 'createdAt';

/** Starts both servers; returns functions that run the script, and that read both sides. */
async function feedWorld() {
  const postgres = await startPostgres();
  await postgres.sql(TABLES);
  await setUp(postgres);
  const world = pageWorld();
  await importLines(world.access, [{ id: 1_000, username: 'owner', email: 'owner@example.org' }]);
  const { secret } = await issue(world.access, { profile: 'owner', permissions: ['api.lookup', 'api.leaderboard'] });
  const server = await serverOfPages(world, { feedCommand: feedCommandFor(world.access) });
  const { folder } = world.access;
  const [state, credentials, programs] = ['state', 'credentials', 'programs'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const made of [state, credentials, programs]) mkdirSync(made, { mode: 0o700 });
  const words = profilectlWords([]).map((word) => `'${word}'`);
  writeFileSync(join(programs, 'profilectl'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`, { mode: 0o755 });
  const token = tokenFor(world.access, { rights: ['profiles'] });
  writeFileSync(join(credentials, 'token'), token, { mode: 0o400 });
  // The search for secrets after a test run must find no token left by the script; this one is ours.
  afterAll(() => rmSync(credentials, { recursive: true, force: true }));
  const environment = {
    ...postgres.environment,
    PATH: `${programs}:${postgres.environment.PATH}`,
    PGUSER: ROLE,
    CHANGES_SQL: join(FEED, 'changes.sql'),
    STATE_DIRECTORY: state,
    CREDENTIALS_DIRECTORY: credentials,
    PROFILECTL_HOST: server.url,
  };
  /** Runs the script, with some of its programs replaced. */
  const run = async (
    instead: Record<string, string> = {},
    variables: Record<string, string> = {},
  ): Promise<Finished> => {
    const bin = join(programs, Bun.randomUUIDv7());
    mkdirSync(bin);
    for (const [name, script] of Object.entries(instead)) {
      writeFileSync(join(bin, name), `#!/bin/sh\nPATH=${environment.PATH}\n${script}\n`, { mode: 0o755 });
    }
    const env = commandEnvironment({ ...environment, ...variables, PATH: `${bin}:${environment.PATH}` });
    const child = Bun.spawn([join(FEED, 'feed.sh')], { env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    return { code: await child.exited, stdout, stderr };
  };
  const stored = async () => {
    const lines = (await exportText(world.access)).split('\n').filter(Boolean);
    const all = lines.map((line) => JSON.parse(line) as ExportedProfile).filter(({ id }) => id < 1_000);
    return all.map(({ id, username, aliases, authId, email, badges, assets, banned, viewsCount, ...rest }) => {
      const { showOnLeaderboard, links } = rest;
      const same = { id, username, aliases, authId, email, badges, assets, banned, viewsCount, showOnLeaderboard };
      return { ...same, links: links.map(({ name }) => name) };
    });
  };
  const lookUp = (id: number) => get(server, `/api/lookup/uid/${id}`, secret);
  const board = async () => {
    const answer = await get(server, '/api/leaderboard', secret);
    const { leaderboard } = (await answer.json()) as { leaderboard: { id: number }[] };
    return leaderboard.map(({ id }) => id);
  };
  /** Makes an Active key of this profile; returns a function that reads the status of a request with it. */
  const keyOf = async (profile: string) => {
    const issued = await issue(world.access, { profile, permissions: ['api.lookup'] });
    return async () => (await get(server, '/api/key', issued.secret)).status;
  };
  const wanted = async () => JSON.parse(await postgres.sql(WANTED)) as Wanted;
  return { postgres, server, state, token, programs, run, stored, wanted, lookUp, board, keyOf };
}

async function setUp(postgres: Postgres): Promise<void> {
  await postgres.sql(`BEGIN;\n${readFileSync(join(FEED, 'setup.sql'), 'utf8')}\nCOMMIT;`);
}

const DONE = { code: 0 };

const isAbsent = postgresFolder() === null;
const world = isAbsent ? (undefined as never) : await feedWorld();

describe.skipIf(isAbsent)('lookups follow the changes in PostgreSQL', () => {
  /** Runs the script, and compares both sides. */
  async function expectSame(): Promise<void> {
    expect(await world.run()).toMatchObject(DONE);
    expect(await world.stored()).toEqual(await world.wanted());
  }

  test('the first run sends all users with their links, aliases and badges', async () => {
    await expectSame();
    const ada = await (await world.lookUp(1)).json();
    expect(ada).toMatchObject({
      username: 'ada',
      customize: { accent: '#fff' },
      createdAt: '2024-05-01T10:00:00.123Z',
    });
  });

  test('the next run sends changed, new, deleted and renamed users, and swapped names and links', async () => {
    const { sql } = world.postgres;
    await sql(
      `INSERT INTO users (id, name) VALUES (10, 'jon');
       UPDATE users SET views = 7 WHERE id = 1;
       UPDATE users SET id = 70 WHERE id = 7;
       DELETE FROM users WHERE id = 4;
       UPDATE users SET name = 'eva' WHERE id = 5; UPDATE users SET name = 'eve' WHERE id = 6;
       BEGIN; SET CONSTRAINTS ALL DEFERRED;
       UPDATE users SET name = CASE name WHEN 'bea' THEN 'cem' ELSE 'bea' END WHERE name IN ('bea', 'cem'); COMMIT;
       UPDATE links SET user_id = 2`,
      'backend',
    );
    await expectSame();
    expect((await world.lookUp(4)).status).toBe(404);
    expect(await (await world.lookUp(2)).json()).toMatchObject({ username: 'cem' });
  });

  test('the next runs send bans, which make the profile’s key get a 401, aliases, auth IDs, badges and assets, and who is on the leaderboard', async () => {
    const { sql } = world.postgres;
    const answerToKey = await world.keyOf('ada');
    expect(await answerToKey()).toBe(200);
    await sql('UPDATE users SET banned = true WHERE id = 1', 'backend');
    // An alias and an auth ID that another user gets.
    await sql(
      `UPDATE users SET auth_id = NULL, avatar_url = 'https://cdn.example.org/1.png' WHERE id = 1;
       UPDATE users SET auth_id = 'auth0|ada' WHERE id = 2; UPDATE aliases SET user_id = 2 WHERE name = 'countess'`,
      'backend',
    );
    await expectSame();
    expect(await world.board()).toContain(2);
    expect(await answerToKey()).toBe(401);
    expect(await (await world.lookUp(1)).json()).toMatchObject({ banned: true });
    // Of each user only one table.
    await sql(
      `UPDATE users SET banned = false WHERE id = 1; INSERT INTO aliases (name, user_id) VALUES ('augusta', 3); UPDATE badges SET enabled = NOT enabled;
       UPDATE users SET show_on_leaderboard = false WHERE id = 2`,
      'backend',
    );
    await expectSame();
    expect(await world.board()).not.toContain(2);
    expect(await answerToKey()).toBe(200);
    const [table] = drawQuarter(['aliases', 'badges', 'links'], seededRandom('truncated table'));
    await sql(`TRUNCATE ${table}`, 'backend');
    await expectSame();
  });

  test('the trial in docs/fresh.md runs the script once, without systemd', async () => {
    const { postgres, server, token, programs } = world;
    const text = readFileSync(join(PROJECT, 'docs/fresh.md'), 'utf8');
    const [, trial = ''] = /### Trying it once[\s\S]*?```sh\n([\s\S]*?)```/.exec(text) ?? [];
    const folder = join(world.state, 'trial-of-docs');
    mkdirSync(folder);
    writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
    symlinkSync(join(PROJECT, 'deploy'), join(folder, 'deploy'));
    const script = trial
      .replace('https://api.example.org', server.url)
      .replace('platform', postgres.environment.PGDATABASE);
    const env = commandEnvironment({
      ...postgres.environment,
      PATH: `${programs}:${postgres.environment.PATH}`,
      PGUSER: OWNER,
    });
    await postgres.sql('UPDATE users SET views = 4711 WHERE id = 2');
    const child = Bun.spawn(['sh', '-e'], { cwd: folder, env, stdio: [new Blob([script]), 'pipe', 'pipe'] });
    const stdout = await new Response(child.stdout).text();
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, expect.any(String)]);
    expect(stdout).toContain('"username": "ada"');
    expect(await (await world.lookUp(2)).json()).toMatchObject({ viewsCount: 4711 });
    // The trial deletes its copy of the token at its end.
    expect(readdirSync(folder).sort()).toEqual(['deploy', 'token']);
    expect(await world.stored()).toEqual(await world.wanted());
    rmSync(join(folder, 'token'));
  });

  test('a transaction that commits after a run has read later ones is not missed', async () => {
    const { sql, begin } = world.postgres;
    const commit = await begin('UPDATE users SET views = 100 WHERE id = 1');
    await sql('UPDATE users SET views = 200 WHERE id = 2');
    await expectSame();
    expect(await (await world.lookUp(2)).json()).toMatchObject({ viewsCount: 200 });
    await commit();
    await expectSame();
    expect(await (await world.lookUp(1)).json()).toMatchObject({ viewsCount: 100 });
  });

  test('a run without changes sends nothing', async () => {
    expect(await world.run({ profilectl: 'exit 9' })).toMatchObject(DONE);
  });

  // Each of these ends the script as a machine that goes down at this point would.
  const KILLS: [when: string, instead: Record<string, string>][] = [
    [
      'after half of the lines were read',
      { psql: 'psql "$@"; head -c 40 changes.jsonl >half; mv half changes.jsonl; kill -9 $PPID' },
    ],
    [
      'after half of the lines were sent',
      { profilectl: 'head -n 1 changes.jsonl >half; mv half changes.jsonl; profilectl "$@"; kill -9 $PPID' },
    ],
    ['after all lines were sent, before that is stored', { sync: 'kill -9 $PPID' }],
  ];
  const killed = drawQuarter(KILLS, seededRandom('killed runs'));
  test.each(killed)('a run killed %s loses nothing after the next run', async (_when, instead) => {
    const since = readFileSync(join(world.state, 'since'), 'utf8');
    await world.postgres.sql(
      'UPDATE users SET views = views + 1; DELETE FROM users WHERE id IN (SELECT max(id) FROM users)',
    );
    expect((await world.run(instead)).code).not.toBe(0);
    expect(readFileSync(join(world.state, 'since'), 'utf8')).toBe(since);
    await expectSame();
  });

  test('a refused line fails the run, does not hold up the other lines, and is sent again until it is accepted', async () => {
    const { sql } = world.postgres;
    await sql("UPDATE users SET views = 55 WHERE id = 1; INSERT INTO users (id, name) VALUES (8, 'not a/name')");
    for (const _run of [1, 2]) {
      const { code, stderr } = await world.run();
      expect([code, stderr]).toEqual([3, expect.stringMatching(/^line \d+ \(id 8\): username /m)]);
    }
    expect(await (await world.lookUp(1)).json()).toMatchObject({ viewsCount: 55 });
    await sql("UPDATE users SET name = 'hal' WHERE id = 8");
    await expectSame();
  });

  test('a second run ends at once while another is running', async () => {
    const begun = join(world.state, 'begun');
    const first = world.run({ psql: `touch begun; while [ -e begun ]; do sleep 0.01; done; psql "$@"` });
    while (!existsSync(begun)) await Bun.sleep(5);
    expect(await world.run()).toEqual({ code: 75, stdout: '', stderr: 'Another run is still in progress.\n' });
    rmSync(begun);
    expect(await first).toMatchObject(DONE);
  });

  test('all users are sent again if the start position is lost or belongs to another PostgreSQL', async () => {
    for (const since of drawHalf(['', '18446744073709551615\n'], seededRandom('start positions'))) {
      writeFileSync(join(world.state, 'since'), since);
      const sent = join(world.state, 'sent');
      expect(await world.run({ profilectl: 'cp changes.jsonl sent; profilectl "$@"' })).toMatchObject(DONE);
      const there = (await world.wanted()).length;
      expect(readFileSync(sent, 'utf8').split('\n').length - 1).toBeGreaterThan(there);
      expect(await world.stored()).toEqual(await world.wanted());
    }
  });

  test('the export of deploy/import writes the same lines as the feed', async () => {
    const { state, postgres } = world;
    const file = join(state, 'profiles.jsonl');
    const env = commandEnvironment({ ...postgres.environment, PGUSER: ROLE });
    const words = [join(PROJECT, 'deploy/import/export.sh'), file];
    expect(Bun.spawnSync(words, { env, stdio: ['ignore', 'pipe', 'inherit'] }).exitCode).toBe(0);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject(
      (await world.wanted()).map(({ id, username, viewsCount }) => ({ id, username, viewsCount })),
    );
  });

  test('users left out of the lines are erased, and a second setup sends all users again', async () => {
    const view = await world.postgres.sql("SELECT pg_get_viewdef('profile_lines')");
    await world.postgres.sql(`CREATE OR REPLACE VIEW profile_lines AS ${view.trim().replace(/;$/, '')} WHERE id <> 2`);
    await world.postgres.sql('UPDATE users SET views = views + 1');
    expect(await world.run()).toMatchObject(DONE);
    expect(await world.stored()).toEqual((await world.wanted()).filter(({ id }) => id !== 2));
    await setUp(world.postgres);
    await expectSame();
  });

  test('the feed’s role can read only what it sends, its token is not an argument, and its files are private', async () => {
    await expect(world.postgres.sql('SELECT id FROM users', ROLE)).rejects.toThrow('permission denied for table users');
    for (const table of ['users', 'profile_changes', 'profile_lines']) {
      for (const statement of [
        `DELETE FROM ${table}`,
        `UPDATE ${table} SET id = 1`,
        `INSERT INTO ${table} (id) VALUES (1)`,
      ]) {
        await expect(world.postgres.sql(statement, ROLE)).rejects.toThrow('permission denied');
      }
    }
    await expect(world.postgres.sql('CREATE TABLE mine ()', ROLE)).rejects.toThrow('permission denied for schema');
    const said = join(world.state, 'arguments');
    await world.postgres.sql('UPDATE users SET views = 1');
    await world.run({ profilectl: 'echo "$@" >arguments; profilectl "$@"' });
    expect(readFileSync(said, 'utf8')).not.toContain('plp_');
    expect(existsSync(join(world.state, 'changes.jsonl'))).toBe(false);
    expect(statSync(join(world.state, 'since')).mode & 0o777).toBe(0o600);
  });

  test('the query in docs/fresh.md for tables without triggers sends changes and deletions', async () => {
    const { sql } = world.postgres;
    await sql(`DROP TRIGGER note_profile_change ON users; GRANT SELECT ON users, deleted_users TO "${ROLE}"`);
    const [, query = ''] = /```sql\n([\s\S]*?)```/.exec(readFileSync(join(PROJECT, 'docs/fresh.md'), 'utf8')) ?? [];
    const file = join(world.state, 'by-time.sql');
    writeFileSync(file, query);
    writeFileSync(join(world.state, 'since'), '');
    for (const change of [
      "UPDATE users SET views = 11, updated_at = now() WHERE id = 1; INSERT INTO users (id, name) VALUES (9, 'ina')",
      'UPDATE users SET views = 12, updated_at = now(); DELETE FROM users WHERE id = 9; INSERT INTO deleted_users (id) VALUES (9)',
    ]) {
      await sql(change);
      expect(await world.run({}, { CHANGES_SQL: file })).toMatchObject(DONE);
      expect(await world.stored()).toEqual(await world.wanted());
    }
  });
});
