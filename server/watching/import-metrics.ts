import { actorText, SERVICE } from '../../shared/actor.ts';
import type { Opened } from '../../shared/db/connect.ts';
import { guardDatabase } from '../../shared/db/faults.ts';
import { readLastImport } from '../../shared/profiles/last-import.ts';
import type { Family, Sample } from './prometheus.ts';

/** The last import that changed something; the metrics have no sample where there was none. Throws `busy`. */
export function importFamilies({ $client }: Opened, nowMs: number): Family[] {
  const last = guardDatabase($client.filename, () => readLastImport($client));
  const gauge = (name: string, help: string, samples: Sample[]): Family => ({
    name: `profile_lookup_last_import_${name}`,
    help: `${help} Absent where none ever changed something.`,
    type: 'gauge',
    samples: last === null ? [] : samples,
  });
  const { atMs = 0, by = SERVICE, lines = 0, refused = 0 } = last ?? {};
  return [
    gauge('age_seconds', 'Since the last import ended.', [[{}, Math.max(0, nowMs - atMs) / 1000]]),
    gauge('lines', 'Lines that the last import read.', [[{}, lines]]),
    gauge('refused_lines', 'Lines that the last import refused.', [[{}, refused]]),
    gauge('info', 'Who made the last import, as a label.', [[{ by: actorText(by, 'operator') }, 1]]),
  ];
}
