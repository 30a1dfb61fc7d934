import fc from 'fast-check';
import type { Deps } from '../../../../shared/deps.ts';
import { exportText } from '../../../support/profiles.ts';

// A simple model of imports, and random files for comparing it with real imports.

/** A line with the fields of {@link Profile}. */
export type Line = {
  id: number;
  deleted?: true;
  username?: string;
  aliases?: string[];
  authId?: string | null;
  displayName?: string;
  viewsCount?: number;
  banned?: boolean;
};

/** A profile in the model. */
export type Profile = Required<Omit<Line, 'deleted'>>;

/** The result of importing a file in the model: lines are applied in order, and names compared at the end. */
export type Model = { profiles: Map<number, Profile>; faulty: number[]; isPossible: boolean };

/** Applies the lines in order; a faulty one changes nothing. */
export function modelOf(lines: readonly (Line & { number: number })[], merge: boolean): Model {
  const profiles = new Map<number, Profile>();
  const faulty: number[] = [];
  for (const { number, deleted, ...line } of lines) {
    const held = profiles.get(line.id);
    if (deleted) profiles.delete(line.id);
    else {
      const next = merge && held !== undefined ? { ...held, ...line } : replacedBy(line, held);
      const isFaulty = next.username === undefined || next.aliases.includes(next.username);
      if (isFaulty) faulty.push(number);
      else profiles.set(line.id, next as Profile);
    }
  }
  const all = [...profiles.values()];
  const names = all.flatMap(({ username, aliases }) => [username, ...aliases]);
  const authIds = all.flatMap(({ authId }) => authId ?? []);
  return { profiles, faulty, isPossible: isDistinct(names) && isDistinct(authIds) };
}

function replacedBy(line: Line, held: Profile | undefined) {
  const { username, aliases = (held?.aliases ?? []).filter((name) => name !== username) } = line;
  const kept = { aliases, banned: line.banned ?? held?.banned ?? false };
  return { authId: null, displayName: username as string, viewsCount: 0, ...line, ...kept };
}

const isDistinct = (texts: readonly string[]) => new Set(texts).size === texts.length;

/** The profiles in the order of an export. */
export const byId = (profiles: Iterable<Profile>) => [...profiles].sort((a, b) => a.id - b.id);

/** The stored profiles, in the model's shape. */
export async function storedProfiles(deps: Pick<Deps, 'db'>, ids: readonly number[] = IDS): Promise<Profile[]> {
  const profiles = Bun.JSONL.parse(await exportText(deps)) as Profile[];
  return profiles
    .filter(({ id }) => ids.includes(id))
    .map(({ id, username, aliases, authId, displayName, viewsCount, banned }) => {
      return { id, username, aliases, authId, displayName, viewsCount, banned };
    });
}

/** The ids in {@link linesOf}. */
export const IDS = [1, 2, 3];
const id = fc.constantFrom(...IDS);
const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const fields = {
  aliases: fc.uniqueArray(name, { maxLength: 2 }),
  authId: fc.constantFrom('auth|1', 'auth|2', null),
  displayName: fc.constantFrom('One', 'Two'),
  viewsCount: fc.integer({ min: 1, max: 9 }),
  banned: fc.boolean(),
};

const anyLine = (merge: boolean): fc.Arbitrary<Line> =>
  fc.oneof(
    {
      arbitrary: fc.record({ id, username: name, ...fields }, { requiredKeys: merge ? ['id'] : ['id', 'username'] }),
      weight: 12,
    },
    { arbitrary: fc.record({ id, deleted: fc.constant(true as const) }), weight: 1 },
  );

const isValidAlone = ({ username, aliases }: Line) => username === undefined || !aliases?.includes(username);

/**
 * Files in which a few profiles claim a few names and auth IDs. Each line is valid by itself. Half of the files end
 * with lines that give every profile its own name, so that an import can apply the lines that waited for a name.
 */
export const linesOf = (merge: boolean): fc.Arbitrary<Line[]> => {
  const lines = fc.array(anyLine(merge).filter(isValidAlone), { minLength: 1, maxLength: 12, size: '+1' });
  const names = fc.shuffledSubarray(NAMES, { minLength: IDS.length, maxLength: IDS.length });
  const lastLines = names.map((usernames) =>
    usernames.map((username, at): Line => ({ id: IDS[at] as number, username, aliases: [], authId: null })),
  );
  return fc.oneof(
    lines,
    fc.tuple(lines, lastLines).map((both) => both.flat()),
  );
};
