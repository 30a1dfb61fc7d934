import type { ServerDeps } from '../../../shared/deps.ts';
import type { Report } from '../../../shared/limits/ledger.ts';
import { prepareNotices, sendNotices } from '../../../shared/upkeep/delivery/deliver.ts';

/** Does in one thread what the server does in two: stores the reminders that are due, and sends what is due. */
export async function sendDueNotices(deps: ServerDeps, report: Report, withReminders: boolean): Promise<boolean> {
  return prepareNotices(deps, withReminders) ? sendNotices(deps, report) : false;
}
