import { write } from '../../shared/db/write.ts';
import type { Deps } from '../../shared/deps.ts';
import { effectsOnKeys } from '../../shared/erasure/erase-profile.ts';
import { createApplier, noRemarks } from '../../shared/profiles/apply.ts';
import { exportProfiles } from '../../shared/profiles/export.ts';
import type { Line } from '../../shared/profiles/fields.ts';
import { findProfile } from '../../shared/profiles/find.ts';
import type { ImportDeps, ImportOptions } from '../../shared/profiles/import/batches.ts';
import { importProfiles } from '../../shared/profiles/import/import.ts';
import { onBox } from './actors.ts';
import { MAIL_CONFIG } from './mail/config.ts';

/** JSON Lines of these objects; strings are included unchanged. */
export function jsonLines(...lines: readonly (object | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
}

/** Imports these lines, by default non-strict and replacing. */
export function importLines(
  deps: ImportDeps,
  lines: readonly (object | string)[],
  options: Partial<ImportOptions> = {},
) {
  const source = [Buffer.from(jsonLines(...lines))];
  return importProfiles(deps, source, {
    merge: false,
    strict: false,
    by: onBox('operator'),
    onKeys: effectsOnKeys(onBox('operator'), MAIL_CONFIG),
    ...options,
  });
}

/** Changes fields of a profile in one transaction, as an operator's merging line does. */
export function changeByHand(deps: Deps, username: string, changes: Omit<Line, 'id'>): void {
  const onKeys = effectsOnKeys(onBox('operator'), MAIL_CONFIG);
  const applier = createApplier(deps.db.$client, { merge: true, onKeys, asOfMs: null, confirms: true });
  const { id } = findProfile(deps.db, username);
  const line = { id, fields: { id, ...changes }, dropped: [] };
  const outcome = write(deps.db, (tx) => applier.apply(tx, line, deps.clock.nowMs(), noRemarks()));
  if (outcome !== 'imported') throw new Error(JSON.stringify(outcome));
}

/** The whole export as text. */
export async function exportText({ db }: Pick<Deps, 'db'>): Promise<string> {
  let text = '';
  await exportProfiles(db, (chunk) => {
    text += chunk;
  });
  return text;
}

/** Username and aliases of every profile, by id. */
export async function namesById(deps: Pick<Deps, 'db'>): Promise<Record<number, string[]>> {
  const profiles = (await exportText(deps)).split('\n').filter(Boolean);
  return Object.fromEntries(
    profiles.map((line) => {
      const { id, username, aliases } = JSON.parse(line);
      return [id, [username, ...aliases]];
    }),
  );
}
