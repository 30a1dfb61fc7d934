import type { Config } from '../../shared/config/config.ts';
import { type Html, html, raw } from '../html.ts';
import { publicPath } from '../http/public-path.ts';
import { accentsOf, colourOf } from './accent.ts';
import base from './base.css' with { type: 'text' };
import script from './page.browser.js' with { type: 'text' };

// What all pages have in common, those of /docs and those of /developers: the document around them, its style and policy,
// and the bar at its top.

/** A page as it is sent, and the Content-Security-Policy that allows only its own style and scripts. */
export type FramedPage = { html: string; contentSecurityPolicy: string };

/** What a page puts into the document; texts but for the HTML. */
export type Framed = {
  /** What the page is, first in the window's title; whose it is follows. */
  title: string;
  /** For search engines. */
  description?: string;
  /** More for `<head>`. */
  head?: Html;
  body: Html;
  /** The style sheet of these pages, which follows the one of all pages. */
  style: string;
  scripts: readonly string[];
  /** Whether its forms are sent to this server. */
  hasForms?: boolean;
  /** Whether its scripts ask this server. */
  asks?: boolean;
};

/** Makes the document of a page. */
export function framePage(config: Config, framed: Framed): FramedPage {
  const { title, description, head, body, style, ...may } = framed;
  const scripts = [script, ...framed.scripts];
  const { publicName } = config;
  const { rule, meta, whole } = lookOf(config);
  // Kept, so that its hash is found without reading it.
  const styles = whole.get(style) ?? base + rule + style;
  whole.set(style, styles);
  const document = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${description === undefined ? '' : html`<meta name="description" content="${description}">\n`}<title>${title} – ${publicName}</title>
${meta}<style>${raw(styles)}</style>
${head ?? ''}</head>
<body>
${body}
${scripts.map((script) => html`<script type="module">${raw(script)}</script>`)}
</body>
</html>`;
  return { html: `<!doctype html>\n${document.html}\n`, contentSecurityPolicy: policyOf(styles, scripts, may) };
}

/**
 * What the configuration says of the look of its pages: the rule with its colour, what stands in `<head>`, and the whole
 * style sheet of pages by their own.
 */
type Look = { rule: string; meta: Html; whole: Map<string, string> };

const LOOKS = new WeakMap<Config, Look>();

function lookOf(config: Config): Look {
  const made = LOOKS.get(config) ?? makeLook(config);
  LOOKS.set(config, made);
  return made;
}

function makeLook({ publicColor, publicLogo }: Config): Look {
  const accent = publicColor === null ? colourOf('accent') : accentsOf(publicColor);
  const bar = colourOf('card');
  const theme = (['light', 'dark'] as const).map(
    (scheme) => html`<meta name="theme-color" media="(prefers-color-scheme: ${scheme})" content="${bar[scheme]}">\n`,
  );
  return {
    rule: publicColor === null ? '' : `:root{--accent:light-dark(${accent.light},${accent.dark})}`,
    meta: html`${theme}<link rel="icon" href="${publicLogo ?? iconIn(accent.light)}">\n`,
    whole: new Map(),
  };
}

/** Our own icon. Without any, a browser asks for /favicon.ico, which does not exist. */
function iconIn(colour: string): string {
  const picture = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><rect width='32' height='32' rx='8' fill='${colour}'/><circle cx='11' cy='16' r='5' fill='none' stroke='white' stroke-width='3'/><path d='M16 16h10m-4 0v5' stroke='white' stroke-width='3' fill='none'/></svg>`;
  return `data:image/svg+xml,${picture.replace(/[#<>]/g, encodeURIComponent)}`;
}

/** What stands in `<head>` of a page that is not ours: its icon, and the colour of the browser's own bar. */
export function headOf(config: Config): Html {
  return lookOf(config).meta;
}

/** Our style for a page of others, of whose element (a selector) it changes nothing: for the bar that is added to it. */
export function styleBeside(others: string, config: Config): string {
  const end = base.indexOf('}') + 1;
  const text = '.top{color:var(--text);font:var(--size)/1.5rem var(--sans)}';
  return `${base.slice(0, end)}${lookOf(config).rule}@scope (body) to (${others}) {${base.slice(end)}${text}}`;
}

/** The policy of an answer that has no page in it, such as one that leads to another page. */
export const EMPTY_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function policyOf(
  style: string,
  scripts: readonly string[],
  { hasForms, asks }: Pick<Framed, 'hasForms' | 'asks'>,
): string {
  const forAsking = asks ? "connect-src 'self'; " : '';
  const forForms = hasForms ? "'self'" : "'none'";
  return `default-src 'none'; style-src ${hashOf(style)}; script-src ${scripts.map(hashOf).join(' ')}; ${forAsking}img-src data:; base-uri 'none'; form-action ${forForms}; frame-ancestors 'none'`;
}

/** The hashes of the styles and scripts, which are few and stay the same. */
const HASHES = new Map<string, string>();

function hashOf(text: string): string {
  const hash = HASHES.get(text) ?? `'sha256-${Bun.SHA256.hash(text, 'base64')}'`;
  HASHES.set(text, hash);
  return hash;
}

/** A link in the bar at the top: its path without that of PUBLIC_URL, or a whole address, and what it is called. */
export type BarLink = readonly [path: string, text: string];

/** The bar at the top: whose service this is, and where one can go; `path` is that of this page. `last` ends its list. */
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

/** Links as items of a list, of which the one to this page is marked. */
export function barItems(config: Config, links: readonly BarLink[], path?: string): Html {
  return html`${links.map(([to, text]) => {
    const address = to.startsWith('/') ? publicPath(config, to) : to;
    return html`<li><a href="${address}"${raw(to === path ? ' aria-current="page"' : '')}>${text}</a></li>`;
  })}`;
}

/** A menu in the bar, which unfolds without scripts. */
export function barMenu(name: Html, items: Html): Html {
  return html`<details><summary>${name}</summary><ul>${items}</ul></details>`;
}

/** The foot of a page: `parts`, and the program that it runs on. */
export function foot(parts: Html): Html {
  return html`<footer>${parts}<p>Runs on Profile Lookup.</p></footer>`;
}
