import { AppError } from '../../shared/errors.ts';
import type { ImportStatus } from '../../shared/files/status.ts';
import type { ImportOutcome, RefusedLine } from '../../shared/profiles/import/report.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { ageText, counted, notice, print } from '../terminal/output.ts';

// The texts that "profiles import" prints.

/** `line 7 (id 12): viewsCount must be …`. The field is added if the reason does not name it. */
export function refusedLineText({ line, id, field, reason }: RefusedLine): string {
  const about = [id === null ? [] : `id ${id}`, field === null || reason.includes(field) ? [] : field].flat();
  return `line ${line}${about.length === 0 ? '' : ` (${about.join(', ')})`}: ${reason}`;
}

/** `1 line was refused`. */
export function refusedText(count: number): string {
  return count === 1 ? '1 line was refused' : `${count} lines were refused`;
}

const MAX_DROPPED_LISTED = 20;

/** The number of ids of skipped lines that an import returns. */
const MAX_NEWER_IDS = 10;

/** Prints the counts of an import to stdout, and remarks on the file to stderr. `database` says where it went. */
export function printOutcome(
  { imported, deleted, pruned, newer, dropped, details }: ImportOutcome,
  database: string,
): void {
  if (dropped.length > 0) {
    const rows = dropped.slice(0, MAX_DROPPED_LISTED).map(({ field, reason, count, ids }) => {
      const more = count > ids.length ? ', …' : '';
      return `  ${count}  ${field} ${reason} (id ${ids.join(', ')}${more})`;
    });
    const rest = dropped.length - rows.length;
    notice(
      ['Left out of lines that were read:', ...rows, ...(rest > 0 ? [`  … and ${rest} more kinds`] : [])]
        .map((row) => cleanForTerminal(row))
        .join('\n'),
    );
  }
  if (details.blank > 0) notice(`${counted(details.blank, 'blank line')} skipped.`);
  if (details.notThere > 0) notice(`${counted(details.notThere, 'erasure')} skipped: the profile doesn't exist.`);
  if (details.unaddressed > 0) {
    const cleared = `The e-mail address of ${counted(details.unaddressed, 'profile')} was removed, since the line has no "email"`;
    notice(`Warning: ${cleared}; the old address is notified. With --merge, fields that a line lacks are kept.`);
  }
  for (const [what, profiles] of Object.entries(details.lost)) {
    if (profiles === 0) continue;
    notice(`Warning: ${counted(profiles, 'profile')} lost all ${what}, since the line has none. --merge keeps them.`);
  }
  if (newer > 0) {
    const ids = `${details.newerIds.join(', ')}${newer > MAX_NEWER_IDS ? ', …' : ''}`;
    notice(
      `${counted(newer, 'line')} skipped: the profile was written or erased here after the data was read (id ${ids}).`,
    );
  }
  if (details.refusedFor.length > 0) {
    const width = String(details.refusedFor[0]?.lines).length;
    const rows = details.refusedFor.map(({ reason, lines }) => `  ${String(lines).padStart(width)}  ${reason}`);
    notice(['Refused lines by reason:', ...rows].join('\n'));
  }
  const erased = deleted > 0 ? `; erased ${counted(deleted, 'profile')}` : '';
  const gone = pruned > 0 ? `; pruned ${counted(pruned, 'profile')}` : '';
  print(`Imported ${counted(imported, 'line')} into ${database}${erased}${gone}.`);
}

/** The error to throw if a part of the import failed, otherwise null. */
export function failureOf({ imported, deleted, details }: ImportOutcome, refusedCount: number): AppError | null {
  const { notPruned } = details;
  const pruning = notPruned === null ? '' : ` ${notPruned}`;
  if (refusedCount > 0) {
    const were = refusedText(refusedCount);
    if (imported + deleted === 0) return new AppError('refused', `${were}; nothing was changed.`);
    return new AppError('done_in_part', `${were}; the rest was imported.${pruning}`);
  }
  return notPruned === null ? null : new AppError('done_in_part', `${notPruned} The rest was imported.`);
}

/** An import in `status`, such as `3h ago, by ada (on the box): 200000 lines, 3 refused`. */
export function lastImportText(last: ImportStatus | null, nowMs: number): string {
  if (last === null) return 'none';
  return `${ageText(last.at, nowMs)} ago, by ${last.by}: ${counted(last.lines, 'line')}, ${last.refused} refused`;
}
