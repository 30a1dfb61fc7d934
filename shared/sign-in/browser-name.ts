/** Browsers by the marks in their User-Agents; one that also contains the marks of others comes before them. */
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
 * The common name of the browser that sent a User-Agent, such as `Chrome on Linux`; `A browser` if it is unknown. Clients can
 * send anything: the name contains none of their text, and no decision may depend on it.
 */
export function browserName(agent: string): string {
  const browser = BROWSERS.find(([marks]) => marks.some((mark) => agent.includes(mark)))?.[1] ?? 'A browser';
  const system = SYSTEMS.find(([mark]) => agent.includes(mark))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
