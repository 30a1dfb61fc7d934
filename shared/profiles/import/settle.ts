import type { Applier } from '../apply.ts';
import { type ProfileLine, type Refusal, wholeLine } from '../line.ts';
import { foldName } from '../name.ts';

// A line that was refused only because another profile has one of its names, or its auth ID, waits for the end: by then
// the other may have given it up, or may be waiting too, as when two profiles swap their names.

/** A line that waits, with its text, and why it would be refused now. */
export type WaitingLine = { number: number; text: string; line: ProfileLine; refusal: Refusal };

/** The lines that wait, each with all later lines of its profile, which must not be applied before it. */
export type Waiting = {
  /** Returns false if there is no room for the line. */
  add: (entry: WaitingLine) => boolean;
  has: (id: number) => boolean;
  /** Takes all lines, by profile. */
  take: () => Map<number, WaitingLine[]>;
};

/** Of a profile few, because each refusal of one of its lines looks at all of them again. */
const MAX_WAITING = { lines: 100_000, ofProfile: 20, characters: 64 * 1024 * 1024 };

/** The refusal of a line behind one of the same profile that waits. */
export const WAITS_BEHIND = wholeLine('an earlier line of the same profile waits for a name of another profile');

/** Keeps lines in memory, up to a limit. */
export function createWaiting(): Waiting {
  let linesOf = new Map<number, WaitingLine[]>();
  const count = { lines: 0, characters: 0 };
  return {
    add: (entry) => {
      if (count.lines >= MAX_WAITING.lines || count.characters >= MAX_WAITING.characters) return false;
      const { id } = entry.line;
      const lines = linesOf.get(id);
      if (lines !== undefined && lines.length >= MAX_WAITING.ofProfile) return false;
      if (lines === undefined) linesOf.set(id, [entry]);
      else lines.push(entry);
      count.lines++;
      count.characters += entry.text.length;
      return true;
    },
    has: (id) => linesOf.has(id),
    take: () => {
      const taken = linesOf;
      linesOf = new Map();
      Object.assign(count, { lines: 0, characters: 0 });
      return taken;
    },
  };
}

/** What a profile will have once its lines are applied: each name and auth ID, with the line that gives it, if any. */
type Wish = Map<string, WaitingLine | null>;

/** Profiles that need each other's names, with their lines in the order of the file. */
export type Group = { ids: number[]; lines: WaitingLine[] };

/** Lines that can be applied if their profiles first give up their names, and lines that can't. */
type Plan = { groups: Group[]; refused: WaitingLine[] };

/** So many profiles are looked at between two pauses. */
const PROFILES_AT_ONCE = 100;

/**
 * Finds which waiting lines can be applied together. A line is refused if the other profile will keep the name, because it
 * has no waiting line or its lines leave it the name, or if an earlier waiting line wants it too. Its profile then keeps its
 * own names, for which further lines may be refused.
 */
export async function planWaiting(
  { heldOf, holderOf }: Pick<Applier, 'heldOf' | 'holderOf'>,
  linesOf: Map<number, WaitingLine[]>,
  merge: boolean,
  pause: () => Promise<void>,
): Promise<Plan> {
  const wishes = new Map<number, Wish>();
  const wishers = new Map<string, Set<number>>();
  const refused: WaitingLine[] = [];
  const holder = (key: string) => holderOf(key.startsWith('name ') ? 'name' : 'auth', key.slice(KIND_LENGTH));

  const wish = (id: number) => {
    for (const key of wishes.get(id)?.keys() ?? []) wishers.get(key)?.delete(id);
    const lines = linesOf.get(id);
    if (lines === undefined) return void wishes.delete(id);
    const wanted = wishOf(heldKeys(heldOf(id)), lines, merge);
    wishes.set(id, wanted);
    for (const key of wanted.keys()) wishers.set(key, (wishers.get(key) ?? new Set()).add(id));
  };
  const hopelessOf = (id: number) => {
    for (const [key, entry] of wishes.get(id) ?? []) {
      const other = entry === null ? null : holder(key);
      if (entry === null || other === null || other === id) continue;
      if (!linesOf.has(other) || wishes.get(other)?.has(key) === true) return entry;
    }
    return null;
  };
  // Refuses a line, and returns the profiles for which more may have become hopeless.
  const refuse = (entry: WaitingLine): number[] => {
    const { id } = entry.line;
    refused.push(entry);
    const left = (linesOf.get(id) ?? []).filter((one) => one !== entry);
    if (left.length > 0) linesOf.set(id, left);
    else linesOf.delete(id);
    wish(id);
    return [id, ...heldKeys(heldOf(id)).flatMap((key) => [...(wishers.get(key) ?? [])])];
  };
  let looked = 0;
  const look = async () => {
    looked++;
    if (looked % PROFILES_AT_ONCE === 0) await pause();
  };

  for (const id of linesOf.keys()) {
    wish(id);
    await look();
  }
  const doubtful = [...linesOf.keys()].reverse();
  for (;;) {
    for (let id = doubtful.pop(); id !== undefined; id = doubtful.pop()) {
      const entry = hopelessOf(id);
      if (entry !== null) doubtful.push(...refuse(entry));
      await look();
    }
    // Of two lines that want the same name, the earlier one gets it.
    const claims = [...wishes].flatMap(([id, wanted]) => [...wanted].map(([key, entry]) => ({ id, key, entry })));
    claims.sort((a, b) => (a.entry?.number ?? 0) - (b.entry?.number ?? 0));
    const claimed = new Map<string, number>();
    const losers = new Set<WaitingLine>();
    for (const { id, key, entry } of claims) {
      if (entry === null || (claimed.get(key) ?? id) === id) claimed.set(key, id);
      else losers.add(entry);
    }
    if (losers.size === 0) break;
    for (const entry of losers) doubtful.push(...refuse(entry));
  }
  return { groups: await groupsOf(linesOf, wishes, holder, look), refused };
}

const KIND_LENGTH = 'name '.length;

function heldKeys(held: ReturnType<Applier['heldOf']>): string[] {
  if (held === null) return [];
  const { row, names } = held;
  return [...names.map(({ folded }) => `name ${folded}`), ...(row.authId === null ? [] : [`auth ${row.authId}`])];
}

function wishOf(held: readonly string[], lines: readonly WaitingLine[], merge: boolean): Wish {
  // The username first, then the aliases, then the auth ID.
  let wish: Wish = new Map(held.map((key) => [key, null]));
  for (const entry of lines) {
    const { fields } = entry.line;
    if (fields === null) {
      wish = new Map();
      continue;
    }
    const kept = [...wish];
    const names = kept.filter(([key]) => key.startsWith('name '));
    const given = (name: string) => [`name ${foldName(name)}`, entry] as const;
    const username = fields.username == null ? names[0] : given(fields.username);
    const aliases = fields.aliases?.map(given) ?? names.slice(1);
    const keepsAuth = merge && fields.authId === undefined;
    const auth = keepsAuth ? kept.filter(([key]) => key.startsWith('auth ')) : [];
    if (fields.authId != null) auth.push([`auth ${fields.authId}`, entry]);
    const next: Wish = new Map();
    // What the profile already has was given by nobody.
    for (const [key, by] of [...(username === undefined ? [] : [username]), ...aliases, ...auth]) {
      if (!next.has(key)) next.set(key, held.includes(key) ? null : by);
    }
    wish = next;
  }
  return wish;
}

async function groupsOf(
  linesOf: ReadonlyMap<number, WaitingLine[]>,
  wishes: ReadonlyMap<number, Wish>,
  holder: (key: string) => number | null,
  look: () => Promise<void>,
): Promise<Plan['groups']> {
  const beside = new Map<number, number[]>([...linesOf.keys()].map((id) => [id, []]));
  for (const [id, wish] of wishes) {
    for (const [key, entry] of wish) {
      const other = entry === null ? null : holder(key);
      if (other === null || !beside.has(other)) continue;
      beside.get(id)?.push(other);
      beside.get(other)?.push(id);
    }
    await look();
  }
  const seen = new Set<number>();
  const groups: Plan['groups'] = [];
  for (const first of beside.keys()) {
    if (seen.has(first)) continue;
    seen.add(first);
    const ids = [first];
    // The list grows during the loop.
    for (const id of ids) {
      for (const other of beside.get(id) ?? []) {
        if (!seen.has(other)) ids.push(other);
        seen.add(other);
      }
    }
    const lines = ids.flatMap((id) => linesOf.get(id) ?? []);
    groups.push({ ids, lines: lines.sort((a, b) => a.number - b.number) });
  }
  return groups;
}
