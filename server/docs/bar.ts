import type { Config } from '../../shared/config/config.ts';
import { type BarLink, barItems, barMenu, topBar } from '../frame/frame.ts';
import { type Html, html } from '../html.ts';
import { TRY_PATHS } from './try/paths.ts';

const FORMATS: readonly BarLink[] = [
  ['/docs.md', 'Markdown'],
  ['/openapi.json', 'openapi.json'],
];

/** The bar at the top of /docs and /docs/try: links to the visitor's keys (if the portal is on) and to all formats. */
export function docsBar(config: Config, path: string): Html {
  const keys: readonly BarLink[] = config.developerPlatform ? [['/developers/keys', 'API keys']] : [];
  // Absolute, because the policy of /docs/try allows only PUBLIC_URL.
  const tryIt: BarLink = [config.publicUrl + TRY_PATHS.page, 'Try it'];
  const formats = barMenu(html`Formats`, barItems(config, FORMATS));
  return topBar(config, [...keys, ['/docs', 'Docs'], tryIt], path, formats);
}
