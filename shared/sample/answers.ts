import { BOARD_SIZE, boardIn, type Leaderboard } from '../profiles/leaderboard.ts';
import { type ProfileLine, parseLine } from '../profiles/line.ts';
import { type Lookup, lookupIn } from '../profiles/lookup.ts';
import { linksBody, type PublicRow, simplifiedProfile } from '../profiles/public.ts';
import { type Source, shownOf } from '../profiles/source.ts';
import text from './profiles.jsonl' with { type: 'text' };

/** What the server answers once the sample profiles are imported: the same code, without a database. */
export type SampleAnswers = { lookup: Lookup; leaderboard: Leaderboard };

/** Reads the sample; a few milliseconds. */
export function sampleAnswers(): SampleAnswers {
  const lines = text.split('\n').filter(Boolean).map(parseSample);
  const rows = lines.map(rowOf);
  const ids = new Map<string, number>();
  for (const { id, username, aliases = [] } of lines) {
    for (const name of [username, ...aliases]) if (name) ids.set(name.folded, id);
  }
  const board = rows
    .filter((row) => row.banned === 0)
    .sort((one, other) => other.viewsCount - one.viewsCount || one.id - other.id)
    .slice(0, BOARD_SIZE);

  const sourceOf = (bodyOf: (row: PublicRow) => string): Source => {
    const byId = new Map(rows.map((row) => [row.id, shownOf({ ...row, body: bodyOf(row) }, 0)]));
    const ofId = (id: number | undefined) => byId.get(id ?? 0) ?? null;
    return {
      ofName: (folded) => ofId(ids.get(folded)),
      ofId,
      ofAuthId: (authId) => ofId(lines.find((line) => line.columns.authId === authId)?.id),
    };
  };
  const profiles = sourceOf(simplifiedProfile);
  const links = sourceOf(({ id }) => linksBody(lines.find((line) => line.id === id)?.links ?? []));
  return {
    lookup: lookupIn({ profiles, links }),
    leaderboard: boardIn(
      board.map((row) => [row.id, row.viewsCount]),
      profiles.ofId,
    ).page,
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
