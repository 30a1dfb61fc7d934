import { noteChanges, noteNoChange } from '../../db/changes.ts';
import type { Sqlite, Tx } from '../../db/connect.ts';
import { noteErasedProfile, noteErasure } from '../../db/erasures.ts';
import { withTables } from '../../db/tables.ts';
import { prepareRowReader } from '../record.ts';
import { applyLine } from './apply-line.ts';
import { createNewerCheck, stampOf } from './newer.ts';
import { type Applied, type ApplyOptions, type ApplyState, countNewer, type Entry, NOTHING_APPLIED } from './pass.ts';
import { clearPendingNames, createPendingNames, dropPendingNames, settlePendingNames } from './pending-names.ts';
import type { Refusal } from './refusal.ts';
import { createSizeCheck } from './size-check.ts';
import { createRowWriter } from './write-row.ts';

/** Applies lines in order inside a transaction, and returns the counts. */
export type Applier = (tx: Tx, entries: Iterable<Entry>, options: ApplyOptions) => Applied;

/**
 * Prepares the statements of an import. Later lines override earlier ones. Names and auth IDs that one line gives up
 * are free for all others. An existing row is updated, never deleted and inserted again, since keys refer to it. The
 * changed profiles are recorded for the caches of other processes.
 */
export function createApplier(sqlite: Sqlite): Applier {
  const state: ApplyState = {
    sqlite,
    readRow: prepareRowReader(sqlite),
    writer: createRowWriter(sqlite),
    pending: createPendingNames(sqlite),
    sizes: createSizeCheck(sqlite),
    newer: createNewerCheck(withTables({ $client: sqlite })),
    readsFirst: false,
    anyErased: false,
    changed: new Set(),
    hasStamped: false,
  };
  return (tx, entries, options) => applyLines(state, tx, entries, options);
}

function applyLines(state: ApplyState, tx: Tx, entries: Iterable<Entry>, options: ApplyOptions): Applied {
  const { sqlite, pending } = state;
  const { times } = options;
  const done: Applied = { ...NOTHING_APPLIED, newerIds: [] };
  Object.assign(state, { anyErased: state.newer.anyErased(times), changed: new Set(), hasStamped: false });
  clearPendingNames(pending);
  for (const entry of entries) {
    const { id, deleted } = entry.line;
    const outcome = deleted ? applyDeletion(state, tx, id, options) : applyLine(state, tx, entry, options, done);
    if (typeof outcome === 'object') options.refuse({ line: entry.number, id, refusal: outcome, isForName: false });
    else if (outcome === 'newer') countNewer(done, id);
    else done[outcome]++;
  }
  settlePendingNames(pending, options.takenAt, options.conflict);
  if (done.deleted > 0) {
    noteErasure(sqlite);
    options.onKeys.erased(tx, done.deleted, times.nowMs);
  }
  if (done.deleted > 0 || state.changed.size > 0) noteChanges(sqlite, done.deleted > 0 ? null : state.changed);
  else if (state.hasStamped) noteNoChange(sqlite);
  return done;
}

function applyDeletion(
  state: ApplyState,
  tx: Tx,
  id: number,
  { onKeys, times, confirms }: ApplyOptions,
): 'deleted' | 'notThere' | 'newer' | Refusal {
  const { sqlite, pending, newer } = state;
  if (newer.isWritten(id, times)) return 'newer';
  const forbidden = onKeys.refuseErasure?.(tx, id, times.nowMs) ?? null;
  if (forbidden !== null) return forbidden;
  dropPendingNames(pending, id);
  const isErased = onKeys.erase(tx, id, times.nowMs);
  if (isErased || confirms) {
    noteErasedProfile(sqlite, id, { atMs: stampOf(times), nowMs: times.nowMs });
    state.hasStamped = true;
  }
  return isErased ? 'deleted' : 'notThere';
}
