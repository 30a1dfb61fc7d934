/** Browsers by what their User-Agent has, those that name others too before these. */
const BROWSERS: readonly (readonly [marks: readonly string[], name: string])[] = [
  [['Edg/', 'EdgA/', 'EdgiOS/'], 'Edge'],
  [['OPR/', 'OPT/', 'OPiOS/'], 'Opera'],
  [['SamsungBrowser/'], 'Samsung Internet'],
  [['Vivaldi/'], 'Vivaldi'],
  [['DuckDuckGo/', 'Ddg/'], 'DuckDuckGo'],
  [['FxiOS/', 'Firefox/'], 'Firefox'],
  [['CriOS/', 'Chrome/', 'HeadlessChrome/', 'Chromium/'], 'Chrome'],
  [['Safari/'], 'Safari'],
];

const SYSTEMS: readonly (readonly [mark: string, name: string])[] = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Macintosh', 'macOS'],
  ['Linux', 'Linux'],
];

/**
 * What people call the browser that sent a User-Agent, such as `Chrome on Linux`; `A browser` where nothing in it is known.
 * Whoever sends one chooses it freely: nothing of its text is in the answer, and nothing may be decided by it.
 */
export function browserName(agent: string): string {
  const browser = BROWSERS.find(([marks]) => marks.some((mark) => agent.includes(mark)))?.[1] ?? 'A browser';
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
