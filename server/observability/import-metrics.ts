import { actorText, SERVICE } from '../../shared/actor.ts';
import type { Opened } from '../../shared/db/connect.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import { type ImportKind, readLastImport } from '../../shared/profiles/last-import.ts';
import type { Family, Sample } from './prometheus.ts';

/**
 * The last import that changed something, and the last that a platform has sent; the metrics have no sample where there was
 * none. Throws `busy`.
 */
export function importFamilies(db: Opened, nowMs: number): Family[] {
  return [...familiesOf(db, 'import', 'import', nowMs), ...familiesOf(db, 'feed', 'request of lines', nowMs)];
}

function familiesOf(db: Opened, kind: ImportKind, named: string, nowMs: number): Family[] {
  const last = guardDatabase(db.$client.filename, () => readLastImport(db, kind));
  const gauge = (name: string, help: string, samples: Sample[]): Family => ({
    name: `profile_lookup_last_${kind}_${name}`,
    help: `${help} Absent where none ever changed something.`,
    type: 'gauge',
    samples: last === null ? [] : samples,
  });
  const { atMs = 0, by = SERVICE, lines = 0, refused = 0 } = last ?? {};
  return [
    gauge('age_seconds', `Since the last ${named} ended.`, [[{}, Math.max(0, nowMs - atMs) / 1000]]),
    gauge('lines', `Lines that the last ${named} had.`, [[{}, lines]]),
    gauge('refused_lines', `Lines of the last ${named} that were refused.`, [[{}, refused]]),
    gauge('info', `Who made the last ${named}, as a label.`, [[{ by: actorText(by, 'operator') }, 1]]),
  ];
}
