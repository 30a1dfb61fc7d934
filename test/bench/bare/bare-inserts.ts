import { openDatabase } from '../../../shared/db-files/open.ts';
import { foldName } from '../../../shared/profiles/name.ts';
import { linesOf } from './lines.ts';

// The baseline of the import: prepared inserts of the same rows into the same tables, a thousand profiles per
// transaction, without reading and parsing the file. Prints milliseconds.

const [database = '', file = ''] = process.argv.slice(2);
const db = openDatabase(database, 'fill').$client;
const insertProfile = db.prepare(
  `INSERT INTO profiles (id, username, display_name, badges, assets, customize, discord_id, discord_clean, banned,
    views_count, followers_count, show_followers_count, created_at, auth_id, email)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);
const insertName = db.prepare('INSERT INTO profile_names (folded, profile_id, position, name) VALUES (?, ?, ?, ?)');
const insertLink = db.prepare(
  `INSERT INTO links (profile_id, position, id, name, link, title, image, clicks_count, link_mode)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
);

type Values = (string | number | null)[];
type Rows = { profile: Values; names: Values[]; links: Values[] };

function rowsOf(line: string): Rows {
  const { id, ...p } = JSON.parse(line);
  const json = [p.badges, p.assets, p.customize].map((value) => JSON.stringify(value));
  return {
    profile: [
      ...[id, p.username, p.displayName, ...json, p.discordID, JSON.stringify(p.discordClean), p.banned ? 1 : 0],
      ...[p.viewsCount, p.followersCount, p.showFollowersCount ? 1 : 0, Date.parse(p.createdAt), p.authId, p.email],
    ],
    names: [p.username, ...p.aliases].map((name, at) => [foldName(name), id, at, name]),
    links: p.links.map((l: Record<string, string | number | undefined>, at: number) => {
      const optional = [l.title, l.image, l.clicksCount, l.linkMode].map((value) => value ?? null);
      return [id, at, l.id, l.name, l.link, ...optional];
    }),
  };
}

const insertAll = db.transaction((batch: readonly Rows[]) => {
  for (const { profile, names, links } of batch) {
    insertProfile.run(...profile);
    for (const name of names) insertName.run(...name);
    for (const link of links) insertLink.run(...link);
  }
});

let milliseconds = 0;

function timed(act: () => void): void {
  const before = performance.now();
  act();
  milliseconds += performance.now() - before;
}

let batch: Rows[] = [];
for await (const line of linesOf(file)) {
  batch.push(rowsOf(line));
  if (batch.length < 1000) continue;
  timed(() => insertAll.immediate(batch));
  batch = [];
}
timed(() => insertAll.immediate(batch));
timed(() => db.close());
process.stdout.write(`${milliseconds}\n`);
