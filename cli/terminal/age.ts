/** The time since `since` (ISO 8601) in the largest whole unit: `3d`, `5h`, `12m`, `40s`. */
export function ageText(since: string, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - Date.parse(since)) / 1000));
  const [unit = 's', length = 1] = UNITS.find(([, unitSeconds]) => seconds >= unitSeconds) ?? [];
  return `${Math.floor(seconds / length)}${unit}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;
