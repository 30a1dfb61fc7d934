import { MAX_NOTED_IDS } from '../../db/changes.ts';
import type { Tx } from '../../db/connect.ts';
import { isSameAddress } from '../../mail/address.ts';
import type { StoredProfile } from '../field-values.ts';
import type { StoredRow } from '../record.ts';
import { type Held, mergedRow } from './merged-row.ts';
import type { TakenAt } from './name-conflicts.ts';
import { isNewer, stampOf } from './newer.ts';
import type { Applied, ApplyOptions, ApplyState, Entry } from './pass.ts';
import { assignAuthId, assignNames, namesWithPending } from './pending-names.ts';
import type { Refusal } from './refusal.ts';
import { HARMLESS_BYTES, sizeFault } from './size-check.ts';
import type { RowWriter } from './write-row.ts';

/**
 * Applies a line that is not a deletion. Returns why it is refused, or that its profile is newer. Records the changes
 * in `state`, and a removed e-mail address in `done`.
 */
export function applyLine(
  state: ApplyState,
  tx: Tx,
  entry: Entry,
  options: ApplyOptions,
  done: Applied,
): 'imported' | 'newer' | Refusal {
  const { pending, writer } = state;
  const { number, line } = entry;
  const { id } = line;
  const { merge, times, takenAt } = options;
  const { refuseRow } = options.onKeys;
  if (state.anyErased && state.newer.isErased(id, times)) return 'newer';
  let held = merge || state.readsFirst || refuseRow !== undefined ? heldOf(state, id) : null;
  if (held !== null && isNewer(held.row.writtenAt, times)) return 'newer';
  const how = { merge, nowMs: times.nowMs, writtenAt: stampOf(times) };
  let wanted = mergedRow(line, held, how);
  if ('reason' in wanted) return wanted;
  const forbidden = refuseRow?.(line.columns, wanted.row, held?.row ?? null) ?? null;
  if (forbidden !== null) return forbidden;
  const isNew = held === null && insertRow(writer, wanted.row, number, takenAt);
  state.readsFirst = !isNew;
  if (!isNew && held === null) {
    held = heldOf(state, id);
    if (held !== null && isNewer(held.row.writtenAt, times)) return 'newer';
    wanted = mergedRow(line, held, how);
    if ('reason' in wanted) return wanted;
  }
  const { row, names } = wanted;
  const isMerged = merge && held !== null;
  const update = isNew ? WRITTEN : updateRow(state, tx, entry, { row, held: held?.row ?? null, isMerged }, options);
  const claim = { id, names, current: held?.names ?? [], line: number, isNew };
  let differs = assignNames(pending, claim, takenAt) || update.differs;
  if (!isMerged || line.links !== undefined) differs = writer.putLinks(id, line.links ?? [], isNew) || differs;
  if (!update.isWritten && (differs || options.confirms)) {
    writer.stamp(id, row.writtenAt);
    state.hasStamped = true;
  }
  if (differs) noteDifference(state, entry, { row, names: names.length, held, isMerged }, options, done);
  return 'imported';
}

function noteDifference(
  { pending, sizes, changed }: ApplyState,
  { number, bytes, line }: Entry,
  { row, names, held, isMerged }: { row: StoredProfile; names: number; held: Held | null; isMerged: boolean },
  { conflict }: ApplyOptions,
  done: Applied,
): void {
  const { id } = line;
  const keptBytes = line.aliases === undefined ? MAX_ALIAS_BYTES * (names - 1) : 0;
  if (isMerged || bytes + keptBytes > HARMLESS_BYTES) {
    const refusal = sizeFault(sizes, id, namesWithPending(pending, id));
    if (refusal !== null) conflict({ line: number, id, winner: null, refusal, isForName: false });
  }
  if (line.columns.email === undefined && row.email === null && (held?.row.email ?? null) !== null) done.unaddressed++;
  // One id more than the recorded maximum is enough: then all profiles count as changed.
  if (changed.size <= MAX_NOTED_IDS) changed.add(id);
}

/** The maximum size of an alias in an export line: 64 characters of 4 bytes, quotes and a comma. */
const MAX_ALIAS_BYTES = 259;

function heldOf({ readRow, pending }: ApplyState, id: number): Held | null {
  const row = readRow(id);
  return row === null ? null : { row, names: namesWithPending(pending, id) };
}

/** Inserts the row unless its id or auth ID exists; new profiles need no other query. */
function insertRow(writer: RowWriter, row: StoredRow, number: number, takenAt: TakenAt): boolean {
  if (!writer.insert(row)) return false;
  if (row.authId !== null) takenAt.set(`auth:${row.authId}`, number);
  return true;
}

/** The input of {@link updateRow}: `held` is the stored row, null if only the auth ID exists, in another row. */
type RowUpdate = {
  row: StoredRow;
  held: StoredProfile | null;
  isMerged: boolean;
};

/** Whether a row was written, and whether it will differ from before at the end of the pass. */
type RowOutcome = { isWritten: boolean; differs: boolean };

const WRITTEN: RowOutcome = { isWritten: true, differs: true };

function updateRow(
  { pending, writer }: ApplyState,
  tx: Tx,
  { number, line }: Entry,
  { row, held, isMerged }: RowUpdate,
  { takenAt, onKeys, times }: ApplyOptions,
): RowOutcome {
  const wanted = row.authId;
  if (!isMerged || line.columns.authId !== undefined) {
    const claim = { id: line.id, authId: wanted, held: held?.authId ?? null, line: number };
    row.authId = assignAuthId(pending, claim, takenAt);
  }
  const isReplaced = writer.replace(row, held);
  if (isReplaced && held !== null && !isSameAddress(held.email, row.email)) {
    writer.countAddressChange(line.id);
    if (held.email !== null) onKeys.readdress(tx, { profileId: line.id, formerEmail: held.email }, times.nowMs);
  }
  if (isReplaced && held !== null && held.banned !== row.banned) {
    onKeys.ban(tx, { profileId: line.id, isBanned: row.banned === 1 }, times.nowMs);
  }
  // A pending auth ID changes the row at the end of the pass.
  return { isWritten: isReplaced, differs: isReplaced || row.authId !== wanted };
}
