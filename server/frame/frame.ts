import type { Config } from '../../shared/config/config.ts';
import { type Html, html, raw } from '../html.ts';
import { publicPath } from '../http/public-path.ts';
import base from './base.css' with { type: 'text' };
import script from './page.browser.js' with { type: 'text' };

// What all pages of /docs and /developers share: the HTML document, its style and policy, and the bar at its top.

/** A page as it is sent, and the Content-Security-Policy that allows only its own scripts and the source of its {@link Styles}. */
export type FramedPage = { html: string; contentSecurityPolicy: string };

/** The elements by which a page gets its style sheet, and the source of style sheets that its policy allows. */
export type Styles = { head: Html; source: string };

/** What a page adds to the document. */
export type Framed = {
  /** The window's title, to which the service's name is appended. */
  title: string;
  description?: string;
  head?: Html;
  body: Html;
  styles: Styles;
  scripts: readonly string[];
  /** Whether it has forms, which are sent to this server. */
  hasForms?: boolean;
  /** Whether its scripts send requests to this server. */
  asks?: boolean;
};

/** Makes the document of a page. */
export function framePage(config: Config, framed: Framed): FramedPage {
  const { title, description, head, body, styles, ...may } = framed;
  const scripts = [script, ...framed.scripts];
  const { publicName } = config;
  const document = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description === undefined ? '' : html`<meta name="description" content="${description}">\n`}<title>${title} – ${publicName}</title>
${headOf(config)}${styles.head}
${head ?? ''}</head>
<body>
${body}
${scripts.map((script) => html`<script type="module">${raw(script)}</script>`)}
</body>
</html>`;
  return { html: `<!doctype html>\n${document.html}\n`, contentSecurityPolicy: policyOf(styles.source, scripts, may) };
}

/** The style sheet of an area's pages: base.css, and the area's own rules. */
export function styleSheet(own: string): string {
  return base + own;
}

/** A style sheet inside the page. */
export function inlineStyles(sheet: string): Styles {
  return { head: html`<style>${raw(sheet)}</style>`, source: hashOf(sheet) };
}

/** The value of a colour of base.css, as `#rrggbb`. */
function colourOf(name: string): { light: string; dark: string } {
  const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(base) ?? [];
  return { light, dark };
}

/** The default icon. Without one, browsers would request /favicon.ico, which does not exist. */
function iconIn(colour: string): string {
  const picture = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='${colour}'/><circle cx='11' cy='16' r='5' fill='none' stroke='white' stroke-width='3'/><path d='M16 16h10m-4 0v5' stroke='white' stroke-width='3' fill='none'/></svg>`;
  return `data:image/svg+xml,${picture.replace(/[#<>]/g, encodeURIComponent)}`;
}

/** Elements for the `<head>` of a third-party page: the icon, and the colour of the browser's toolbar. */
export function headOf({ publicLogo }: Config): Html {
  const bar = colourOf('card');
  const theme = (['light', 'dark'] as const).map(
    (scheme) => html`<meta name="theme-color" media="(prefers-color-scheme: ${scheme})" content="${bar[scheme]}">\n`,
  );
  return html`${theme}<link rel="icon" href="${publicLogo ?? iconIn(colourOf('accent').light)}">\n`;
}

/** The style of our bar on a third-party page; it leaves the element `others` (a selector) alone. */
export function styleBeside(others: string): string {
  const end = base.indexOf('}') + 1;
  const text = '.top{color:var(--text);font:var(--size)/1.5rem var(--sans)}';
  return `${base.slice(0, end)}@scope (body) to (${others}) {${base.slice(end)}${text}}`;
}

/** The policy of a response without a page, such as a redirect. */
export const EMPTY_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function policyOf(
  styleSource: string,
  scripts: readonly string[],
  { hasForms, asks }: Pick<Framed, 'hasForms' | 'asks'>,
): string {
  const forAsking = asks ? "connect-src 'self'; " : '';
  const forForms = hasForms ? "'self'" : "'none'";
  return `default-src 'none'; style-src ${styleSource}; script-src ${scripts.map(hashOf).join(' ')}; ${forAsking}img-src data:; base-uri 'none'; form-action ${forForms}; frame-ancestors 'none'`;
}

/** The hashes of styles and scripts, which are few and constant. */
const HASHES = new Map<string, string>();

function hashOf(text: string): string {
  const hash = HASHES.get(text) ?? `'sha256-${Bun.SHA256.hash(text, 'base64')}'`;
  HASHES.set(text, hash);
  return hash;
}

/** A link in the bar: its path without that of PUBLIC_URL, or an absolute URL, and its text. */
export type BarLink = readonly [path: string, text: string];

/** The bar at the top: the service's name and logo, and links; `path` is that of this page, `last` the last item. */
export function topBar(config: Config, links: readonly BarLink[] | null, path?: string, last?: Html): Html {
  const { publicName, publicLogo } = config;
  const logo = publicLogo === null ? '' : html`<img src="${publicLogo}" alt="" width="24" height="24">`;
  const home = config.developerPlatform ? '/developers' : '/docs';
  const nav =
    links === null
      ? ''
      : html`<nav aria-label="Pages"><ul class="nav">${barItems(config, links, path)}${last === undefined ? '' : html`<li>${last}</li>`}</ul></nav>`;
  return html`<header class="top"><p class="brand"><a href="${publicPath(config, home)}">${logo}<span>${publicName} <strong>Developers</strong></span></a></p>${nav}</header>`;
}

/** Links as list items; the one to `path`, this page, is marked. */
export function barItems(config: Config, links: readonly BarLink[], path?: string): Html {
  return html`${links.map(([to, text]) => {
    const address = to.startsWith('/') ? publicPath(config, to) : to;
    return html`<li><a href="${address}"${raw(to === path ? ' aria-current="page"' : '')}>${text}</a></li>`;
  })}`;
}

/** A menu in the bar, which opens without scripts. */
export function barMenu(name: Html, items: Html): Html {
  return html`<details><summary>${name}</summary><ul>${items}</ul></details>`;
}

/** The footer of a page: `parts`, and the name of this program. */
export function foot(parts: Html): Html {
  return html`<footer>${parts}<p>Runs on Profile Lookup.</p></footer>`;
}
