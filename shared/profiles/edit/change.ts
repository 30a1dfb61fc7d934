import type { Actor } from '../../actor.ts';
import type { Tx } from '../../db/connect.ts';
import { writeProfiles } from '../../db/write.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { ExportedProfile } from '../field-values.ts';
import { readProfile } from '../find.ts';
import { refuseUnlikeProfile } from '../profile-version.ts';
import { createProfileReader } from '../record.ts';
import { createApplier } from './apply.ts';
import { parseLine } from './line.ts';
import type { Loser } from './name-conflicts.ts';
import type { EffectsOnKeys } from './pass.ts';

/** The fields to change, as in a line of an import. */
export type Changes = Partial<Record<keyof ExportedProfile, unknown>>;

/** Determines the changes of a profile; called in the transaction that makes them. */
export type Decide = (profile: ExportedProfile) => Changes;

/**
 * Changes one profile. The result of `decide` is applied like a merging line of an import, in the transaction that read
 * the profile; `onKeys` handles its keys. Returns the changed profile as an export line. Throws `not_found`, `usage`
 * for an invalid value or an unknown field, and `refused` for a name or auth ID of another profile.
 */
export function changeProfile(
  deps: Pick<Deps, 'db' | 'clock'>,
  input: { id: number; by: Actor; decide: Decide; onKeys: EffectsOnKeys },
): string {
  const sqlite = deps.db.$client;
  const apply = createApplier(sqlite);
  const reader = createProfileReader(sqlite);
  return writeProfiles(deps.db, (tx: Tx) => {
    const { id } = input;
    refuseUnlikeProfile(tx, id, input.by);
    readProfile(tx, id);
    const text = JSON.stringify({ ...input.decide(JSON.parse(reader.line(id)) as ExportedProfile), id });
    const line = parseLine(text, true);
    if ('reason' in line) throw new AppError('usage', `${capitalised(line.reason)}.`);
    if (line.droppedLinks > 0) {
      throw new AppError('usage', 'The URL of a link may not begin with javascript:, vbscript: or data:.');
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
      conflict: refuse,
    });
    return reader.line(id);
  });
}

/** An import's reason as the beginning of a sentence; a field's name at its start keeps its case. */
function capitalised(reason: string): string {
  return reason.startsWith('the ') ? `T${reason.slice(1)}` : reason;
}
