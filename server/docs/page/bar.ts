import type { Config } from '../../../shared/config/config.ts';
import { type BarLink, barItems, barMenu, topBar } from '../../frame/frame.ts';
import { type Html, html } from '../../html.ts';
import { TRY_PATHS } from '../try/paths.ts';

const FORMATS: readonly BarLink[] = [
  ['/docs.md', 'Markdown'],
  ['/openapi.json', 'openapi.json'],
];

/** The bar at the top of /docs and /docs/try: the way to one's keys, where there are such pages, to both, and to other forms. */
export function docsBar(config: Config, path: string): Html {
  const keys: readonly BarLink[] = config.developerPlatform ? [['/developers/keys', 'API keys']] : [];
  // The policy of /docs/try lets it work at the public address only.
  const tryIt: BarLink = [config.publicUrl + TRY_PATHS.page, 'Try it'];
  const formats = barMenu(html`Formats`, barItems(config, FORMATS));
  return topBar(config, [...keys, ['/docs', 'Docs'], tryIt], path, formats);
}
