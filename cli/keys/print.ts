import { styleText } from 'node:util';
import { isoTime } from '../../shared/clock.ts';
import { KEY_STATES, type KeyState } from '../../shared/db/schema.ts';
import { hasEnded, hasSecret } from '../../shared/keys/key.ts';
import type { HistoryView, KeyView } from '../../shared/keys/view.ts';
import { formatRateLimit } from '../../shared/limits/rate-limit.ts';
import { detailText } from '../../shared/log.ts';
import { cleanForTerminal } from '../../shared/text.ts';
import { countAnswered, countRequests, type Outcomes, type UsageView } from '../../shared/usage/usage.ts';
import { ageText, counted, table, timeCell, wrapLine } from '../terminal/output.ts';

const NONE = '–';

const LABEL_WIDTH = 16;

/** A key as text, one field per line ({@link factsText}). Fields of the grant are omitted if there was no approval. */
export function keyText(key: KeyView, columns: number): string {
  const facts: [string, string][] = [
    ['Identifier', key.identifier],
    ['State', key.refusedFor === null ? key.state : `${key.state} (refused: ${REFUSED_WORDS[key.refusedFor]})`],
    ...(key.successorOf === null ? [] : [['Successor of', key.successorOf] as [string, string]]),
    ['Profile', key.profile ?? 'erased'],
    ['Name', key.name],
    ['Description', key.description],
    ['Project URL', key.projectUrl ?? NONE],
    ['Expected usage', key.expectedUsage ?? NONE],
    ['Requested', `${key.requestedPermissions.join(', ')} at ${key.requestedAt}`],
    ...(key.addressChangedAt === null ? [] : [['Address', addressText(key.addressChangedAt)] as [string, string]]),
    ...grantFacts(key),
    ['Last attempt', attemptText(key)],
  ];
  return factsText(facts, columns);
}

const STATES = new RegExp(`^(\\w{8} +|State +)(${KEY_STATES.join('|')})\\b`, 'gm');

/** Colours the states of keys in clean output, where they follow an identifier or a label, on a terminal that shows colours. */
export function paintStates(clean: string): string {
  return clean.replace(STATES, (line, before: string, state: KeyState) => {
    if (hasEnded(state)) return line;
    return before + styleText(state === 'Active' ? 'green' : 'yellow', state, { stream: process.stdout });
  });
}

type RefusedFor = NonNullable<KeyView['refusedFor']>;

const REFUSED_WORDS: Record<RefusedFor, string> = { ban: 'its profile is banned' };

const REFUSED_IN_SHORT: Record<RefusedFor, string> = { ban: 'banned' };

/** Labels and values, one pair per line. Values are cleaned of control characters, wrapped at `columns` and indented. */
export function factsText(facts: readonly (readonly [label: string, value: string])[], columns: number): string {
  const labelWidth = Math.max(LABEL_WIDTH, ...facts.map(([label]) => label.length + 1));
  return facts.map(([label, value]) => factText(label.padEnd(labelWidth), value, columns)).join('\n');
}

function grantFacts(key: KeyView): [string, string][] {
  const decided: [string, string][] = key.decidedAt === null ? [] : [['Decided', key.decidedAt]];
  if (key.permissions.length === 0) return decided;
  return [
    ['Granted', key.permissions.join(', ')],
    ['Rate limits', key.rateLimits.map(formatRateLimit).join(', ') || NONE],
    ...decided,
    ['Expires', key.expiresAt ?? 'never'],
  ];
}

function factText(label: string, value: string, columns: number): string {
  const width = Math.max(LABEL_WIDTH, columns - label.length);
  const lines = cleanForTerminal(value, true)
    .split('\n')
    .flatMap((line) => wrapLine(line, width));
  return label + lines.join(`\n${' '.repeat(label.length)}`);
}

function addressText(changedAt: string): string {
  return `address changed at ${changedAt}, after this was requested; is it still the same owner?`;
}

function attemptText({ attempt }: KeyView): string {
  if (attempt === null) return NONE;
  return `no. ${attempt.number} by ${attempt.by} at ${attempt.startedAt}: ${attempt.result}`;
}

/** A key's history as a table. Nothing is truncated: the terminal wraps long reasons. */
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

/**
 * Keys as a table and, with `lastUses` (milliseconds since 1970 by identifier), the last use of each.
 */
export function keysText(
  keys: readonly KeyView[],
  nowMs: number,
  lastUses?: ReadonlyMap<string, number>,
  terminalColumns?: number,
): string {
  if (keys.length === 0) return 'No keys.';
  const columns: [string, (key: KeyView) => string][] = [
    ['Identifier', (key) => key.identifier],
    ['State', (key) => (key.refusedFor === null ? key.state : `${key.state} (${REFUSED_IN_SHORT[key.refusedFor]})`)],
    ['Profile', (key) => key.profile ?? 'erased'],
    ['Name', (key) => key.name],
    ['Permissions', (key) => (key.permissions.length > 0 ? key.permissions : key.requestedPermissions).join(', ')],
    ['Requested', (key) => timeCell(key.requestedAt, nowMs)],
    ['Last used', (key) => lastUseText(key, lastUses?.get(key.identifier), nowMs)],
  ];
  const areUsed = lastUses !== undefined && keys.some(({ permissions }) => permissions.length > 0);
  const shown = columns.filter(([head]) => areUsed || head !== 'Last used');
  return table(
    shown.map(([head]) => head),
    keys.map((key) => shown.map(([, cell]) => cell(key))),
    { omitted: ['Permissions', 'Requested', 'Last used', 'Profile'], truncated: ['Profile', 'Name'] },
    terminalColumns,
  );
}

function lastUseText({ state }: KeyView, at: number | undefined, nowMs: number): string {
  if (at !== undefined) return `${ageText(isoTime(at), nowMs)} ago`;
  return hasSecret(state) ? 'never' : '';
}

const OK_CELL = '█';
const OTHER_CELL = '░';

const REFUSED = {
  forbidden: 'without permission',
  malformed: 'malformed',
  limited: 'over a limit',
  failed: 'failed',
} as const;

/** A bar for each day with requests, the longest filling `columns`, and a legend with the totals. */
export function usageText({ identifier, days, lastUsedAt }: UsageView, columns: number): string {
  const totals = days.map(countRequests);
  const max = Math.max(...totals);
  const countWidth = String(max).length;
  const barWidth = Math.max(1, columns - 'YYYY-MM-DD'.length - countWidth - 4);
  const bars = days.flatMap(({ day, ...counts }, index) => {
    const total = totals[index] as number;
    if (total === 0) return [];
    return [`${day}  ${String(total).padStart(countWidth)}  ${bar(countAnswered(counts), total, max, barWidth)}`];
  });
  const sum = totals.reduce((all, total) => all + total, 0);
  const lastUse = lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`;
  const head = `Key ${identifier}: ${counted(sum, 'request')} in ${counted(days.length, 'day')}, ${lastUse}`;
  return sum === 0 ? head : [head, '', ...bars, '', legend(days)].join('\n');
}

/** The bar of one day. Answered and other requests, if any, have at least one cell each if there is room. */
function bar(answered: number, total: number, max: number, width: number): string {
  const cells = Math.max(1, Math.round((total / max) * width));
  const others = total - answered;
  const minOtherCells = others > 0 ? 1 : 0;
  const okCells = Math.min(
    cells - minOtherCells,
    Math.max(answered > 0 ? 1 : 0, Math.round((answered / total) * cells)),
  );
  return OK_CELL.repeat(Math.max(0, okCells)) + OTHER_CELL.repeat(cells - Math.max(0, okCells));
}

function legend(days: UsageView['days']): string {
  const sumOf = (count: (day: Outcomes) => number) => days.reduce((sum, day) => sum + count(day), 0);
  const notFound = sumOf((day) => day.notFound);
  const answered = `${sumOf(countAnswered)} answered${notFound === 0 ? '' : ` (${notFound} not found)`}`;
  const refused = Object.entries(REFUSED).flatMap(([outcome, words]) => {
    const sum = sumOf((day) => day[outcome as keyof typeof REFUSED]);
    return sum === 0 ? [] : [`${sum} ${words}`];
  });
  return `${OK_CELL} ${answered}   ${OTHER_CELL} ${refused.join(', ') || 'none refused'}`;
}
