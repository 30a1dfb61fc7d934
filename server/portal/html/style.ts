import type { Config } from '../../../shared/config/config.ts';
import { etagOf } from '../../../shared/etag.ts';
import { type Styles, styleSheet } from '../../frame/frame.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { STYLE_PATH } from '../style-path.ts';
import own from './page.css' with { type: 'text' };

/** The style sheet of all pages under `/developers`. */
export const PORTAL_STYLE = styleSheet(own);

const VERSION = etagOf(PORTAL_STYLE).slice(1, 9);

/**
 * Links a page to the style sheet, which browsers keep from page to page: it is more than twice as long as most pages. The URL
 * changes with the sheet, so that no page is shown with that of another version.
 */
export function linkedStyles(config: Config): Styles {
  // 'self', because people may open the pages by another name of the server than that in PUBLIC_URL. Browsers use only what is
  // served as text/css as a style sheet (X-Content-Type-Options), and nothing that people wrote is.
  return {
    head: html`<link rel="stylesheet" href="${publicPath(config, STYLE_PATH)}?v=${VERSION}">`,
    source: "'self'",
  };
}
