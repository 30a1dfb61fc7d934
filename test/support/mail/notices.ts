import type { ServerDeps } from '../../../shared/deps.ts';
import type { Report } from '../../../shared/limits/ledger.ts';
import { prepareNotices, sendNotices } from '../../../shared/upkeep/delivery/deliver.ts';

/** Does in one thread what the server does in two: stores due reminders and sends due mails. */
export async function sendDueNotices(deps: ServerDeps, report: Report, withReminders: boolean): Promise<boolean> {
  return prepareNotices(deps, withReminders) ? sendNotices(deps, report) : false;
}
