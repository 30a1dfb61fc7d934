import type { Actor } from '../actor.ts';
import type { Sqlite, Tx } from '../db/connect.ts';
import { write } from '../db/write.ts';
import type { Deps } from '../deps.ts';
import { completeErasures, eraseById, keepErasedId } from '../erasure.ts';
import { AppError } from '../errors.ts';
import { addEvent } from '../events.ts';
import { noteAddressChange, noteBan } from '../keys/life.ts';
import { storeSearchTexts } from '../keys/search.ts';
import { isSameAddress } from '../mail/address.ts';
import type { MailConfig } from '../mail/outbox.ts';
import { exportProfile } from './export.ts';
import type { Line, Profile } from './fields.ts';
import { readProfile, refuseUnlikeProfile } from './find.ts';
import { fieldRefusal, type ProfileLine, type Refusal, wholeLine } from './line.ts';
import { completed, type HeldRow, type Name, namesOf, profileOf, ROW_COLUMNS, type Row, rowOf } from './record.ts';

// Applies lines of an import inside a transaction of the caller.

/** What a backend's token may not do with its lines; the last two functions return the refusal, or null. */
export type Policy = {
  /** Called before each line. Throws `invalid_token` if the token was removed. */
  requireToken: (tx: Tx) => void;
  /** Called before a profile is erased. */
  refuseErasure: (tx: Tx, id: number, nowMs: number) => Refusal | null;
  /**
   * Called before a profile is written, with the line, the profile that it would make, and the stored one or null. May
   * change the profile.
   */
  refuseProfile: (line: Line, wanted: Profile, held: Guarded | null) => Refusal | null;
};

/** The stored fields that a backend without contact data may not change. */
type Guarded = Pick<Profile, 'email' | 'authId' | 'banned'>;

/** How the lines of an import are applied. */
type ApplyOptions = {
  /** Whether a line whose profile exists changes only the fields that it has. */
  merge: boolean;
  /** Whom histories and the log name. */
  by: Actor;
  config: MailConfig;
  /** Absent if everything is allowed. */
  policy?: Policy;
  /** When the data was read, in milliseconds since 1970; null if unknown. Profiles written or erased since win. */
  asOfMs: number | null;
  /** Whether a line that changes nothing renews the time of its row, since its sender confirms that it is current. */
  confirms: boolean;
};

/** What became of a line. `isHeld` if it was refused only because another profile has a name or auth ID. */
export type Outcome = 'imported' | 'deleted' | 'notThere' | 'newer' | { refusal: Refusal; isHeld: boolean };

/** What lines did, besides their outcomes. */
export type Remarks = {
  /** Profiles whose line removed their e-mail address by not having one. */
  unaddressed: number;
  /** Profiles that lost all of these because their line has none. */
  lost: { links: number; badges: number; assets: number };
  /** The ids of lines with aliases that repeat a name, once for each such alias. */
  repeated: number[];
};

/** Makes empty {@link Remarks}. */
export function noRemarks(): Remarks {
  return { unaddressed: 0, lost: { links: 0, badges: 0, assets: 0 }, repeated: [] };
}

/** A stored profile: its row, and its names, the username first. */
type Held = { row: HeldRow; names: Name[] };

/** The maximum size of a profile with its links in responses, in bytes. */
const MAX_SHOWN_BYTES = 64 * 1_024;

const NO_LINKS = '{"links":[]}';

/**
 * Whether a row written at this time is newer than an import's data. A time in the future comes from a clock that was
 * ahead, and is ignored.
 */
function isNewer(writtenAtMs: number, asOfMs: number | null, nowMs: number): boolean {
  return asOfMs !== null && writtenAtMs > asOfMs && writtenAtMs <= nowMs;
}

export type Applier = ReturnType<typeof createApplier>;

/** Prepares the statements of an import. A row is updated, never deleted and inserted again: keys refer to it. */
export function createApplier(sqlite: Sqlite, { merge, by, config, policy, asOfMs, confirms }: ApplyOptions) {
  const statements = prepareStatements(sqlite);
  /** Profiles whose names and auth ID were given up, as they were before (`release`). */
  const released = new Map<number, Held>();

  function heldOf(id: number): Held | null {
    const row = statements.row.get(id);
    return row === null ? null : { row, names: statements.names.all(id) };
  }

  /** The profile with this folded name, or with this auth ID; null if there is none. */
  function holderOf(kind: 'name' | 'auth', text: string): number | null {
    return (kind === 'name' ? statements.nameHolder : statements.authHolder).get(text)?.id ?? null;
  }

  /** Why a line has to wait: another profile has one of its names, or its auth ID. */
  function heldByOther(id: number, names: readonly Name[], authId: string | null, before: Held | null): Refusal | null {
    const isNew = ({ folded }: Name) => before === null || !before.names.some((one) => one.folded === folded);
    for (const [position, one] of names.entries()) {
      const holder = isNew(one) ? holderOf('name', one.folded) : null;
      if (holder !== null && holder !== id) return heldName(position, one.name, holder);
    }
    if (authId === null || authId === before?.row.authId) return null;
    const holder = holderOf('auth', authId);
    if (holder === null || holder === id) return null;
    return {
      field: 'authId',
      reason: `the authId is held by profile ${holder}`,
      sum: 'the authId is held by another profile',
    };
  }

  function put(tx: Tx, line: Line, nowMs: number, remarks: Remarks): Outcome {
    const { id } = line;
    if (asOfMs !== null && isNewer(statements.erasedAt.get(id)?.at ?? 0, asOfMs, nowMs)) return 'newer';
    const free = released.get(id);
    const held = free ?? heldOf(id);
    if (held !== null && isNewer(held.row.writtenAt, asOfMs, nowMs)) return 'newer';
    const username = line.username ?? (merge ? held?.names[0]?.name : undefined);
    if (username === undefined) return refused(missingUsername(id, merge));
    // Most lines that replace a profile need nothing of it.
    const needsBefore = merge || line.aliases == null || line.banned == null || line.createdAt == null;
    let before = held !== null && needsBefore ? profileIn(held) : null;
    const profile = completed(line, username, { base: merge ? before : null, kept: before, nowMs });
    if (policy !== undefined) {
      before ??= held && profileIn(held);
      const forbidden = policy.refuseProfile(line, profile, before);
      if (forbidden !== null) return refused(forbidden);
    }
    const row = rowOf(profile);
    const { names, repeated } = namesOf(profile);
    const tooLarge = sizeFault(row);
    if (tooLarge !== null) return refused(tooLarge);
    // A profile that has given up its names for others has to get each of them anew.
    const taken = heldByOther(id, names, row.authId, free === undefined ? held : null);
    if (taken !== null) return { refusal: taken, isHeld: true };
    if (line.aliases != null) for (let count = 0; count < repeated; count++) remarks.repeated.push(id);

    const writtenAt = asOfMs ?? nowMs;
    if (held === null) {
      statements.insert.run(...contentOf(row), writtenAt, row.email, row.authId, id);
      addNames(id, names);
      return 'imported';
    }
    const { row: old } = held;
    const isBanChanged = (old.banned === 1) !== profile.banned;
    const isRenamed = !isSameNames(held.names, names);
    const isMoved = isRenamed || row.email !== old.email || row.authId !== old.authId || isBanChanged;
    if (isMoved || free !== undefined) {
      statements.move.run(...contentOf(row), writtenAt, row.email, row.authId, Number(isMoved), id);
    } else if (isOtherContent(row, old)) statements.setContent.run(...contentOf(row), writtenAt, id);
    else if (confirms) statements.stamp.run(writtenAt, id);
    if (isRenamed || free !== undefined) {
      if (free === undefined) statements.clearNames.run(id);
      addNames(id, names);
    }
    released.delete(id);
    const isShownOtherwise = profile.displayName !== old.displayName;
    if (isRenamed || isShownOtherwise || row.email !== old.email) storeSearchTexts(tx, id);
    if (!merge) remarkOn(line, held, row, remarks);
    if (old.email !== null && !isSameAddress(old.email, row.email)) {
      if (line.email === undefined) remarks.unaddressed++;
      noteAddressChange(tx, config, { profileId: id, formerEmail: old.email }, { by, atMs: nowMs });
    }
    if (isBanChanged) {
      noteBan(tx, { profileId: id, isBanned: profile.banned }, { by, atMs: nowMs });
      const event = profile.banned ? 'banned' : 'unbanned';
      addEvent(tx, { by, atMs: nowMs }, { subject: 'profile', event, profileId: id });
    }
    return 'imported';
  }

  function addNames(id: number, names: readonly Name[]): void {
    for (const [position, { name, folded }] of names.entries()) statements.addName.run(folded, id, position, name);
  }

  function remove(tx: Tx, id: number, nowMs: number): Outcome {
    if (asOfMs !== null && isNewer(statements.row.get(id)?.writtenAt ?? 0, asOfMs, nowMs)) return 'newer';
    const forbidden = policy?.refuseErasure(tx, id, nowMs) ?? null;
    if (forbidden !== null) return refused(forbidden);
    released.delete(id);
    const isErased = eraseById(tx, id, by, nowMs);
    if (isErased || confirms) keepErasedId(sqlite, id, { atMs: asOfMs ?? nowMs, nowMs });
    return isErased ? 'deleted' : 'notThere';
  }

  return {
    holderOf,
    /** How many names a line writes or frees at most: those that it has, and those of its profile. */
    countNames: ({ id, fields }: ProfileLine): number =>
      statements.names.all(id).length + 1 + (fields?.aliases?.length ?? 0),
    /** Applies a line. One that is not applied has changed nothing, unless it throws. */
    apply: (tx: Tx, { id, fields }: ProfileLine, nowMs: number, remarks: Remarks): Outcome => {
      policy?.requireToken(tx);
      return fields === null ? remove(tx, id, nowMs) : put(tx, fields, nowMs, remarks);
    },
    /** Call once at the end of a transaction in which lines erased so many profiles. */
    completeErasures: (tx: Tx, count: number, nowMs: number) => completeErasures(tx, count, { by, atMs: nowMs }),
    /** Frees the names and the auth ID of a profile for other lines, until its own next line is applied. */
    release: (id: number): void => {
      const held = heldOf(id);
      if (held === null) return;
      released.set(id, held);
      statements.clearNames.run(id);
      statements.clearAuthId.run(id);
    },
    /** Forgets what was released, once it was written again or is rolled back. */
    endRelease: (): void => released.clear(),
  };
}

function prepareStatements(sqlite: Sqlite) {
  const content = ['profile', 'links', 'followers_count', 'show_followers_count', 'show_on_leaderboard', 'written_at'];
  const set = content.map((column) => `${column} = ?`).join(', ');
  // Shifted to fit into a JavaScript integer.
  const random = 'random() >> 11';
  return {
    row: sqlite.query<HeldRow, [number]>(
      `SELECT ${ROW_COLUMNS}, banned, profile ->> 'displayName' AS displayName FROM profiles WHERE id = ?`,
    ),
    names: sqlite.query<Name, [number]>(
      'SELECT name, folded FROM profile_names WHERE profile_id = ? ORDER BY position',
    ),
    nameHolder: sqlite.query<{ id: number }, [string]>('SELECT profile_id AS id FROM profile_names WHERE folded = ?'),
    authHolder: sqlite.query<{ id: number }, [string]>('SELECT id FROM profiles WHERE auth_id = ?'),
    erasedAt: sqlite.query<{ at: number }, [number]>('SELECT at FROM erased_profiles WHERE id = ?'),
    insert: sqlite.query(
      `INSERT INTO profiles (${content.join(', ')}, email, auth_id, id, revision)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ${random})`,
    ),
    // Counts and links change most often; an UPDATE of all columns would write all indexes.
    setContent: sqlite.query(`UPDATE profiles SET ${set} WHERE id = ?`),
    move: sqlite.query(
      `UPDATE profiles SET ${set}, email = ?, auth_id = ?,
        revision = iif(?, ${random}, revision) WHERE id = ?`,
    ),
    stamp: sqlite.query('UPDATE profiles SET written_at = ? WHERE id = ?'),
    clearNames: sqlite.query('DELETE FROM profile_names WHERE profile_id = ?'),
    clearAuthId: sqlite.query('UPDATE profiles SET auth_id = NULL WHERE id = ?'),
    addName: sqlite.query('INSERT INTO profile_names (folded, profile_id, position, name) VALUES (?, ?, ?, ?)'),
  };
}

function contentOf({ profile, links, followersCount, showFollowersCount, showOnLeaderboard }: Row) {
  return [profile, links, followersCount, showFollowersCount, showOnLeaderboard] as const;
}

function isOtherContent(row: Row, old: Row): boolean {
  const before = contentOf(old);
  return contentOf(row).some((value, index) => value !== before[index]);
}

function profileIn({ row, names }: Held): Profile {
  return profileOf(
    row,
    names.slice(1).map(({ name }) => name),
  );
}

function isSameNames(before: readonly Name[], wanted: readonly Name[]): boolean {
  return before.length === wanted.length && wanted.every(({ name }, index) => before[index]?.name === name);
}

function remarkOn(line: Line, held: Held, row: Row, { lost }: Remarks): void {
  if (line.links == null && held.row.links !== NO_LINKS) lost.links++;
  if ((line.badges != null && line.assets != null) || row.profile === held.row.profile) return;
  const { badges, assets } = profileIn(held);
  if (line.badges == null && badges.length > 0) lost.badges++;
  if (line.assets == null && Object.keys(assets).length > 0) lost.assets++;
}

function refused(refusal: Refusal): Outcome {
  return { refusal, isHeld: false };
}

function missingUsername(id: number, merge: boolean): Refusal {
  if (!merge) return fieldRefusal('username', 'is missing');
  const rule = 'is missing, and there is no';
  return {
    ...fieldRefusal('username', `${rule} such profile to merge the line into`),
    reason: `username ${rule} profile ${id} to merge the line into`,
  };
}

function heldName(position: number, name: string, holder: number): Refusal {
  return {
    field: position === 0 ? 'username' : `aliases[${position - 1}]`,
    reason: `the name "${name}" is held by profile ${holder}`,
    sum: 'the name is held by another profile',
  };
}

function sizeFault({ profile, links }: Row): Refusal | null {
  // A UTF-16 unit takes at most three bytes.
  if (3 * (profile.length + links.length) <= MAX_SHOWN_BYTES) return null;
  const bytes = Buffer.byteLength(profile) + Buffer.byteLength(links);
  if (bytes <= MAX_SHOWN_BYTES) return null;
  return wholeLine(
    `the profile and its links would need ${Math.ceil(bytes / 1024)} KiB when shown, and 64 KiB are allowed`,
    'the profile and its links would need more than 64 KiB when shown',
  );
}

/**
 * Bans a profile or lifts the ban, like a merging line of an import. Returns the profile. Throws
 * `not_found`, and `changed_since` if it is no longer the version that `by` was shown.
 */
export function setBanned(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id, banned, by, config }: { id: number; banned: boolean; by: Actor; config: MailConfig },
): Profile {
  const applier = createApplier(db.$client, { merge: true, by, config, asOfMs: null, confirms: true });
  return write(db, (tx) => {
    refuseUnlikeProfile(tx, id, by);
    readProfile(tx, id);
    const outcome = applier.apply(tx, { id, fields: { id, banned }, dropped: [] }, clock.nowMs(), noRemarks());
    if (outcome !== 'imported') throw new AppError('internal', null, { cause: outcome });
    return exportProfile(db, { uid: id });
  });
}
