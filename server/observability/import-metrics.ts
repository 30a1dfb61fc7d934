import { actorText, SERVICE } from '../../shared/actor.ts';
import type { Opened } from '../../shared/db/connect.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import { type ImportKind, readLastImport } from '../../shared/profiles/last-import.ts';
import type { Family, Sample } from './prometheus.ts';

/** Metrics of the last import that changed something, and of the last one from a backend; no samples if there was none. */
export function importFamilies(db: Opened, nowMs: number): Family[] {
  return [
    ...familiesOf(db, 'import', 'import', nowMs),
    ...familiesOf(db, 'feed', "import by a backend's request", nowMs),
  ];
}

function familiesOf(db: Opened, kind: ImportKind, named: string, nowMs: number): Family[] {
  const last = guardDatabase(db.$client.filename, () => readLastImport(db, kind));
  const gauge = (name: string, help: string, samples: Sample[]): Family => ({
    name: `profile_lookup_last_${kind}_${name}`,
    help: `${help} Absent if none has ever changed anything.`,
    type: 'gauge',
    samples: last === null ? [] : samples,
  });
  const { atMs = 0, by = SERVICE, lines = 0, refused = 0 } = last ?? {};
  return [
    gauge('age_seconds', `Seconds since the last ${named} ended.`, [[{}, Math.max(0, nowMs - atMs) / 1000]]),
    gauge('lines', `Lines of the last ${named}.`, [[{}, lines]]),
    gauge('refused_lines', `Lines of the last ${named} that were refused.`, [[{}, refused]]),
    gauge('info', `Who ran the last ${named}, as a label.`, [[{ by: actorText(by, 'operator') }, 1]]),
  ];
}
