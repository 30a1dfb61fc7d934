import type { Sqlite } from '../../../shared/db/connect.ts';
import { noteUsageSaved, prepareUsageRows, type Usage } from '../../../shared/usage/usage.ts';

/** Stores what was counted, as a server does once a second. */
export function saveUsage(sqlite: Sqlite, usage: Usage): void {
  prepareUsageRows(sqlite)(usage.unsaved);
  noteUsageSaved(usage);
}
