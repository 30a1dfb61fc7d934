import { formatRateLimit } from '../../shared/keys/rate-limit.ts';
import type { HistoryView, KeyView } from '../../shared/keys/view.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { table } from '../output.ts';

const NONE = '–';

/** A key as a person reads it: one fact a line, texts of strangers cleaned and their further lines indented. */
export function keyText(key: KeyView): string {
  const facts: [string, string][] = [
    ['Identifier', key.identifier],
    ['State', key.state],
    ['Profile', key.profile ?? 'erased'],
    ['Name', key.name],
    ['Description', key.description],
    ['Project URL', key.projectUrl ?? NONE],
    ['Expected usage', key.expectedUsage ?? NONE],
    ['Requested', `${key.requestedPermissions.join(', ')} at ${key.requestedAt}`],
    ['Granted', key.permissions.join(', ') || NONE],
    ['Rate limits', key.rateLimits.map(formatRateLimit).join(', ') || NONE],
    ['Decided', key.decidedAt ?? NONE],
    ['Expires', key.expiresAt ?? 'never'],
    ['Last attempt', attemptText(key)],
  ];
  return facts
    .map(
      ([label, value]) => `${label.padEnd(16)}${cleanForTerminal(value, true).replaceAll('\n', `\n${' '.repeat(16)}`)}`,
    )
    .join('\n');
}

function attemptText({ attempt }: KeyView): string {
  if (attempt === null) return NONE;
  return `no. ${attempt.number} by ${attempt.by} at ${attempt.startedAt}: ${attempt.result}`;
}

/** A key's history as a table, oldest first. */
export function historyText(history: readonly HistoryView[]): string {
  return table(
    ['When', 'Who', 'What', 'State', 'Detail'],
    history.map((entry) => [
      entry.at,
      entry.by,
      entry.event,
      entry.from === null || entry.from === entry.to ? entry.to : `${entry.from} → ${entry.to}`,
      detailText(entry),
    ]),
  );
}

function detailText({ detail }: HistoryView): string {
  if (detail === null) return '';
  if (detail.attempt !== undefined) return `attempt ${detail.attempt}`;
  if (detail.nameAfter !== undefined) return `"${detail.nameBefore}" → "${detail.nameAfter}"`;
  return detail.reason ?? '';
}

/** Keys as a table, or a sentence where there is none. */
export function keysText(keys: readonly KeyView[]): string {
  if (keys.length === 0) return 'No keys.';
  return table(
    ['Identifier', 'State', 'Profile', 'Name', 'Permissions', 'Requested'],
    keys.map((key) => [
      key.identifier,
      key.state,
      key.profile ?? 'erased',
      key.name,
      (key.permissions.length > 0 ? key.permissions : key.requestedPermissions).join(', '),
      key.requestedAt,
    ]),
  );
}
