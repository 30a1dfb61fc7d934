/** The clocks of the program, which tests replace. */
export type Clock = {
  /** The wall clock: whole milliseconds since 1970 (UTC), for dates that people see. */
  nowMs: () => number;
  /** Fractional milliseconds since any time, which never go back within a process; for durations and limits. */
  monotonicMs: () => number;
};

/** The machine's clocks. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Resolves like the promise, or to `too late` after this many milliseconds. Nothing is aborted. */
export async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | 'too late'> {
  const { promise: late, resolve } = Promise.withResolvers<'too late'>();
  const timer = setTimeout(resolve, milliseconds, 'too late');
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC with milliseconds. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** The length of a day in milliseconds. */
export const DAY_MS = 86_400_000;

const ISO_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):?(\d\d))$/i;

/** The years that `toISOString` writes with four digits. */
const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Parses an ISO 8601 time with date, time and zone (`Z`, `+02:00`, `+0200`) to milliseconds since 1970. Seconds and fractions are
 * optional; digits after milliseconds are ignored. Null for any other string, such as one without a zone, a date that does not
 * exist, 24:00, a leap second, or a year outside 0001 to 9999.
 */
export function parseIsoTime(text: string): number | null {
  const match = ISO_TIME.exec(text);
  if (match === null) return null;
  const part = (index: number): number => Number(match[index] ?? 0);
  const [month, day, hour, minute, second] = [part(2), part(3), part(4), part(5), part(6)];
  const [zoneHour, zoneMinute] = [part(9), part(10)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) return null;

  const date = new Date(0);
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  date.setUTCFullYear(part(1), month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  date.setUTCHours(hour, minute, second, Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)));

  const offsetMs = (zoneHour * 60 + zoneMinute) * 60_000;
  const ms = date.getTime() - (match[8] === '-' ? -offsetMs : offsetMs);
  return ms >= FIRST_MS && ms <= LAST_MS ? ms : null;
}
