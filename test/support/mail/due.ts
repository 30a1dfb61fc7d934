import type { Report } from '../../../server/portal/services.ts';
import { openBeside } from '../../../shared/db/open-beside.ts';
import { withTables } from '../../../shared/db/tables.ts';
import type { ServerDeps } from '../../../shared/deps.ts';
import * as outbox from '../../../shared/mail/outbox.ts';
import { storeReminders } from '../../../shared/mail/reminders.ts';

/** Does what the server's timers do: stores due reminders, drops old mails and sends due ones. */
export async function sendDueMails(deps: ServerDeps, report: Report, withReminders: boolean): Promise<void> {
  using beside = openBeside(deps.config.databasePath);
  const db = withTables({ $client: beside });
  if (withReminders) storeReminders(db, deps.clock.nowMs(), deps.config);
  outbox.dropOldMails(db, deps.clock.nowMs(), report);
  await outbox.sendDueMails(deps, report);
}
