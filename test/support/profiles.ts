import { noteChanges } from '../../shared/db/changes.ts';
import type { Db } from '../../shared/db/connect.ts';
import { profileNames, profiles } from '../../shared/db/schema/profiles.ts';
import { writeProfiles } from '../../shared/db/write.ts';
import { openDatabase } from '../../shared/files/open.ts';
import { foldName } from '../../shared/profiles/name.ts';

type Columns = Partial<typeof profiles.$inferInsert> & { aliases?: string[] };

/** Inserts a profile, with defaults for the fields that are not given; returns its id. */
export function insertProfile(db: Db, { aliases = [], ...columns }: Columns = {}): number {
  const id = columns.id ?? 1;
  const username = columns.username ?? `user${id}`;
  db.insert(profiles)
    .values({
      id,
      username,
      displayName: username,
      badges: '[]',
      assets: '{}',
      customize: '{}',
      discordClean: '{}',
      banned: false,
      viewsCount: 0,
      followersCount: 0,
      showFollowersCount: true,
      createdAt: Date.parse('2024-05-01T00:00:00Z'),
      email: `owner${id}@example.org`,
      ...columns,
    })
    .run();
  for (const [position, name] of [username, ...aliases].entries()) {
    db.insert(profileNames)
      .values({ folded: foldName(name), profileId: id, position, name })
      .run();
  }
  return id;
}

/** The usernames in the database of this file, in the order of their ids. Closes the file, so that a command may replace it. */
export function usernamesIn(path: string): string[] {
  const { $client } = openDatabase(path, 'use');
  const rows = $client.query('SELECT username FROM profiles ORDER BY id').all() as { username: string }[];
  $client.close();
  return rows.map(({ username }) => username);
}

/**
 * Changes profiles by SQL, and records that any may have changed. Without that, a running server that writes at the same moment
 * (it stores the usage of keys) shows the change up to ten seconds later.
 */
export function changeBySql(db: Db, sql: string, values: (number | string)[] = []): void {
  writeProfiles(db, () => {
    db.$client.run(sql, values);
    noteChanges(db.$client, null);
  });
}
