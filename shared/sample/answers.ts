import { BOARD_SIZE, boardPage, type Leaderboard } from '../profiles/leaderboard.ts';
import { type ProfileLine, parseLine } from '../profiles/line.ts';
import { type Lookup, lookupIn } from '../profiles/lookup.ts';
import type { PublicRow } from '../profiles/public.ts';
import text from './profiles.jsonl' with { type: 'text' };

/** What the server answers once the sample profiles are imported: the same code, without a database. */
export type SampleAnswers = { lookup: Lookup; leaderboard: Leaderboard };

/** Reads the sample; a few milliseconds. */
export function sampleAnswers(): SampleAnswers {
  const lines = text.split('\n').filter(Boolean).map(parseSample);
  const rows = new Map(lines.map((line) => [line.id, rowOf(line)]));
  const ids = new Map<string, { id: number; position: number }>();
  for (const { id, username, aliases = [] } of lines) {
    for (const [position, name] of [username, ...aliases].entries()) if (name) ids.set(name.folded, { id, position });
  }
  const board = [...rows.values()]
    .filter((row) => row.banned === 0)
    .sort((one, other) => other.viewsCount - one.viewsCount || one.id - other.id)
    .slice(0, BOARD_SIZE);

  return {
    lookup: lookupIn({
      idOfName: (folded) => ids.get(folded) ?? null,
      idOfAuthId: (authId) => lines.find((line) => line.columns.authId === authId) ?? null,
      rowOfId: (id) => rows.get(id) ?? null,
      usernameOfId: (id) => rows.get(id) ?? null,
      linksOfId: (id) => lines.find((line) => line.id === id)?.links ?? [],
    }),
    leaderboard: (limit, offset) => {
      const page = board.slice(offset, offset + limit);
      const above = board.filter((row) => row.viewsCount > (page[0]?.viewsCount ?? 0)).length;
      return boardPage(page, above, { limit, offset, total: board.length });
    },
  };
}

function parseSample(line: string): ProfileLine {
  const parsed = parseLine(line, false);
  if ('reason' in parsed) throw new Error(`A sample profile is refused: ${parsed.reason}`);
  return parsed;
}

/** The row that the import stores, as the lookups read it. */
function rowOf({ id, username, columns }: ProfileLine): PublicRow {
  const name = username?.name ?? '';
  return {
    id,
    username: name,
    displayName: columns.displayName ?? name,
    badges: columns.badges ?? '[]',
    assets: columns.assets ?? '{}',
    customize: columns.customize ?? '{}',
    discordID: columns.discordId ?? null,
    discordClean: columns.discordClean ?? '{}',
    banned: columns.banned ? 1 : 0,
    viewsCount: columns.viewsCount ?? 0,
    followersCount: columns.showFollowersCount === false ? null : (columns.followersCount ?? 0),
    createdAt: columns.createdAt ?? 0,
  };
}
