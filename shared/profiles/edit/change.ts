import type { Actor } from '../../actor.ts';
import type { Tx } from '../../db/connect.ts';
import { writeProfiles } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { ExportedProfile } from '../field-values.ts';
import { readProfile } from '../find.ts';
import { foldName } from '../name.ts';
import { refuseUnlikeProfile } from '../profile-version.ts';
import { createProfileReader } from '../record.ts';
import { createApplier } from './apply.ts';
import { parseLine } from './line.ts';
import type { Loser } from './name-conflicts.ts';
import type { EffectsOnKeys } from './pass.ts';

/** The fields that are to change, as in a line of an import. */
export type Changes = Partial<Record<keyof ExportedProfile, unknown>>;

/** What of a profile is to change; decided in the transaction that changes it. */
export type Decide = (profile: ExportedProfile) => Changes;

/**
 * Changes a profile by hand, given by its id: what `decide` makes of it goes through the rules of an import's merged line, in the one
 * transaction in which the profile was read; `onKeys` says what follows for its keys. Returns the profile as it is then, as
 * an export line. Throws `not_found`, `usage` for a value that breaks its rule or a field that nobody knows, `refused` for a
 * name or auth ID that another profile holds.
 */
export function changeProfile(
  deps: Pick<Deps, 'db' | 'clock' | 'config'>,
  input: { id: number; by: Actor; decide: Decide; onKeys: EffectsOnKeys },
): string {
  const sqlite = deps.db.$client;
  const apply = createApplier(sqlite, deps.config.maxProfileBytes);
  const reader = createProfileReader(sqlite);
  return writeProfiles(deps.db, (tx: Tx) => {
    const { id } = input;
    refuseUnlikeProfile(tx, id, input.by);
    readProfile(tx, id);
    const text = JSON.stringify({ ...input.decide(JSON.parse(reader.line(id)) as ExportedProfile), id });
    const line = parseLine(text, true);
    if ('reason' in line) throw new AppError('usage', `${capitalised(line.reason)}.`);
    if (line.droppedLinks > 0) {
      throw new AppError('usage', 'The address of a link may not begin with javascript:, vbscript: or data:.');
    }
    if (line.unknown.length > 0) throw new AppError('usage', `There is no field ${line.unknown[0]}.`);
    const refuse = ({ refusal }: Loser): never => {
      throw new AppError('refused', `${capitalised(refusal.reason)}.`);
    };
    apply(tx, [{ number: 1, bytes: Buffer.byteLength(text), line }], {
      merge: true,
      onKeys: input.onKeys,
      confirms: true,
      times: { nowMs: deps.clock.nowMs(), asOfMs: null },
      takenAt: new Map(),
      refuse,
      clash: refuse,
    });
    return reader.line(id);
  });
}

/** Gives a profile another username; the old one can stay as its first alias. An alias can become the username. */
export function renamed(profile: ExportedProfile, username: string, keepOld: boolean): Changes {
  const names = keepOld ? [profile.username, ...profile.aliases] : profile.aliases;
  return { username, aliases: names.filter((name) => foldName(name) !== foldName(username)) };
}

/** Gives a profile one more alias, as its last. */
export function withAlias({ aliases }: ExportedProfile, alias: string): Changes {
  return { aliases: [...aliases, alias] };
}

/** Takes an alias away, however it is spelled. Throws `refused` where the profile has no such alias. */
export function withoutAlias({ username, aliases }: ExportedProfile, alias: string): Changes {
  const left = aliases.filter((name) => foldName(name) !== foldName(alias));
  if (left.length < aliases.length) return { aliases: left };
  const isUsername = foldName(username) === foldName(alias);
  throw new AppError(
    'refused',
    isUsername ? `${username} is the username itself; rename the profile instead.` : `${username} has no such alias.`,
  );
}

/** The reasons of an import read on after a line's number; the field names that some begin with stay as they are. */
function capitalised(reason: string): string {
  return reason.startsWith('the ') ? `T${reason.slice(1)}` : reason;
}
