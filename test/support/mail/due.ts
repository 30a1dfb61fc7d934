import { openBeside } from '../../../shared/db/open-beside.ts';
import { withTables } from '../../../shared/db/tables.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import type { Report } from '../../../shared/limits/ledger.ts';
import * as outbox from '../../../shared/mail/outbox.ts';
import { storeReminders } from '../../../shared/mail/reminders.ts';

/** Does what the server's timer does: stores due reminders and sends due mails. */
export async function sendDueMails(deps: ServerDeps, report: Report, withReminders: boolean): Promise<void> {
  if (withReminders) {
    using beside = openBeside(deps.config.databasePath);
    storeReminders(withTables({ $client: beside }), deps.clock, deps.config);
  }
  await outbox.sendDueMails(deps, report);
}
