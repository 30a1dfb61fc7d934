import type { Config } from '../../shared/config/config.ts';
import { etagOf } from '../../shared/etag.ts';
import { type Html, html, raw } from '../html.ts';
import { publicPath } from '../http/public-path.ts';
import script from './page.browser.js' with { type: 'text' };
import sheet from './pages.css' with { type: 'text' };

// What all pages of /docs and /developers share: the HTML document, its style and policy, and the bar at its top.

/** The style sheet of all pages, and the path at which it is served. */
export const STYLE = { sheet, path: '/docs/style.css' } as const;

/** Part of the sheet's URL, so that no page is shown with the sheet of another version. */
const VERSION = etagOf(sheet).slice(1, 9);

/** A page as it is sent, and the Content-Security-Policy that allows only its own scripts and our style sheet. */
export type FramedPage = { html: string; contentSecurityPolicy: string };

/** What a page adds to the document. */
type Framed = {
  /** The window's title, to which the service's name is appended. */
  title: string;
  description?: string;
  body: Html;
  scripts: readonly string[];
  /** Whether it has forms, which are sent to this server. */
  hasForms?: boolean;
  /** Whether its scripts send requests to this server. */
  asks?: boolean;
};

/** Makes the document of a page. */
export function framePage(config: Config, framed: Framed): FramedPage {
  const { title, description, body, ...may } = framed;
  const scripts = [script, ...framed.scripts];
  const document = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description === undefined ? '' : html`<meta name="description" content="${description}">\n`}<title>${title} – ${config.publicName}</title>
${headOf(config)}<link rel="stylesheet" href="${publicPath(config, STYLE.path)}?v=${VERSION}">
</head>
<body>
${body}
${scripts.map((script) => html`<script type="module">${raw(script)}</script>`)}
</body>
</html>`;
  return { html: `<!doctype html>\n${document.html}\n`, contentSecurityPolicy: policyOf(scripts, may) };
}

/** The value of a colour of the style sheet, as `#rrggbb`. */
function colourOf(name: string): { light: string; dark: string } {
  const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(sheet) ?? [];
  return { light, dark };
}

/** The default icon. Without one, browsers would request /favicon.ico, which does not exist. */
const ICON = `data:image/svg+xml,${`<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='#4f49d6'/><circle cx='11' cy='16' r='5' fill='none' stroke='white' stroke-width='3'/><path d='M16 16h10m-4 0v5' stroke='white' stroke-width='3' fill='none'/></svg>`.replace(/[#<>]/g, encodeURIComponent)}`;

/** The logo in the bar and on the cards of sign-ins. */
export function logoOf({ publicLogo }: Config): Html {
  return publicLogo === null
    ? html`<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><circle cx="11" cy="16" r="5"/><path d="M16 16h10m-4 0v5"/></svg>`
    : html`<img class="mark" src="${publicLogo}" alt="">`;
}

/** Elements for the `<head>` of a third-party page: the icon, and the colour of the browser's toolbar. */
export function headOf({ publicLogo }: Config): Html {
  const bar = colourOf('card');
  const theme = (['light', 'dark'] as const).map(
    (scheme) => html`<meta name="theme-color" media="(prefers-color-scheme: ${scheme})" content="${bar[scheme]}">\n`,
  );
  return html`${theme}<link rel="icon" href="${publicLogo ?? ICON}">\n`;
}

/** The style sheet for our bar on a third-party page; it leaves the element `others` (a selector) alone. */
export function styleBeside(others: string): string {
  const end = sheet.indexOf('/* Elements */');
  return `${sheet.slice(0, end)}@scope (body) to (${others}) {${sheet.slice(end)}.top { font: var(--base); }}`;
}

/** The policy of a response without a page, such as a redirect. */
export const EMPTY_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function policyOf(scripts: readonly string[], { hasForms, asks }: Pick<Framed, 'hasForms' | 'asks'>): string {
  const forAsking = asks ? "connect-src 'self'; " : '';
  const forForms = hasForms ? "'self'" : "'none'";
  // 'self', because people may open the pages by another name of the server than that in PUBLIC_URL. Browsers use only what is
  // served as text/css as a style sheet (X-Content-Type-Options), and nothing that people wrote is.
  return `default-src 'none'; style-src 'self'; script-src ${scripts.map(hashOf).join(' ')}; ${forAsking}img-src data:; base-uri 'none'; form-action ${forForms}; frame-ancestors 'none'`;
}

/** The hashes of scripts, which are few and constant. */
const HASHES = new Map<string, string>();

function hashOf(text: string): string {
  const hash = HASHES.get(text) ?? `'sha256-${Bun.SHA256.hash(text, 'base64')}'`;
  HASHES.set(text, hash);
  return hash;
}

/** A link in the bar: its path without that of PUBLIC_URL, or an absolute URL, and its text. */
export type BarLink = readonly [path: string, text: string | Html];

/**
 * The bar at the top: the service's name and logo, and links. `path` is that of this page, `section` that of the page to which it
 * belongs; `last` stands at the end.
 */
export function topBar(
  config: Config,
  links: readonly BarLink[] | null,
  path?: string,
  last?: Html,
  section?: string,
): Html {
  const home = config.developerPlatform ? '/developers' : '/docs';
  const end = last === undefined ? '' : html`<li class="last">${last}</li>`;
  const nav =
    links === null
      ? ''
      : html`<nav aria-label="Pages"><ul class="nav">${barItems(config, links, path, section)}${end}</ul></nav>`;
  return html`<header class="top"><a class="brand" href="${publicPath(config, home)}">${logoOf(config)}${config.publicName} <span>Developers</span></a>${nav}</header>`;
}

/** Links as list items; those to `path`, this page, and to its section are marked. */
export function barItems(config: Config, links: readonly BarLink[], path?: string, section?: string): Html {
  return html`${links.map(([to, text]) => {
    const address = to.startsWith('/') ? publicPath(config, to) : to;
    const current = to === path ? ' aria-current="page"' : to === section ? ' aria-current="true"' : '';
    return html`<li><a href="${address}"${raw(current)}>${text}</a></li>`;
  })}`;
}

/** A menu in the bar, which opens without scripts. */
export function barMenu(name: Html, items: Html): Html {
  return html`<details class="account"><summary>${name}</summary><ul>${items}</ul></details>`;
}

/** The footer of a page: links in one line, and the zone of the page's times, which a script shows. */
export function foot(config: Config): Html {
  const link = (path: string, text: string) => html`<a href="${publicPath(config, path)}">${text}</a>`;
  const { contact, developerPlatform } = config;
  const parts = [
    link('/docs', 'Docs'),
    ...(developerPlatform ? [link('/developers/found', 'Found a secret?')] : []),
    ...(contact === null
      ? []
      : [html`<a href="${/^https?:/.test(contact) ? contact : `mailto:${contact}`}">${contact}</a>`]),
  ];
  return html`<footer><p>${parts.map((part, at) => (at === 0 ? part : html` · ${part}`))}<span id="zone" hidden> · times in <span class="zone">UTC</span></span></p></footer>`;
}

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

/** The paths of the try-it page, and of the two files that it loads. */
export const TRY_PATHS = {
  page: '/docs/try',
  script: '/docs/try/swagger-ui.js',
  style: '/docs/try/swagger-ui.css',
} as const;
