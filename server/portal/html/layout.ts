import type { Config } from '../../../shared/config/config.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Page } from '../requests/visit.ts';
import style from './page.css' with { type: 'text' };

/** Who sees a page, as far as its head shows. */
export type Visitor = {
  kind: 'owner' | 'admin' | null;
  /** The admin's name; owners are not named. */
  name?: string;
  /** The line that says what the last form did. */
  flash?: string | null;
  /** The path of this page. */
  path?: string;
};

/** A page as it is sent, and the Content-Security-Policy that allows only its own style and scripts. */
export type LaidPage = { text: string; contentSecurityPolicy: string };

type Link = readonly [path: string, text: string];

/** The links in the head of each page. */
const LINKS: Record<'owner' | 'admin' | 'nobody', readonly Link[]> = {
  owner: [
    ['/developers/keys', 'Your keys'],
    ['/developers/sessions', 'Sessions'],
  ],
  admin: [
    ['/developers/admin', 'Requests'],
    ['/developers/admin/people', 'People'],
    ['/developers/admin/log', 'Log'],
    ['/developers/sessions', 'Sessions'],
  ],
  nobody: [['/developers/sign-in', 'Sign in']],
};

const STYLE_HASH = hashOf(style);

// Without an icon a browser asks for /favicon.ico, which does not exist.
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%234338ca'/%3E%3Ccircle cx='11' cy='16' r='5' fill='none' stroke='white' stroke-width='3'/%3E%3Cpath d='M16 16h10m-4 0v5' stroke='white' stroke-width='3' fill='none'/%3E%3C/svg%3E";

/** Lays out a page: head, links for who sees it (none where that is not known), `<main>`, foot. */
export function layPage(config: Config, visitor: Visitor | null, page: Page): LaidPage {
  const { title, refusal, body, scripts = [], goOn } = page;
  const document = html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${refusal === undefined ? '' : 'Error: '}${title} – Profile Lookup</title>
${goOn === undefined ? '' : html`<meta http-equiv="refresh" content="0; url=${goOn}">\n`}<link rel="icon" href="${raw(ICON)}">
<style>${raw(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><p class="brand"><a href="${publicPath(config, '/developers')}">Profile Lookup <span>Developer Platform</span></a></p>${visitor === null ? '' : navigation(config, visitor)}</header>
<main id="main" tabindex="-1">
${visitor?.flash ? html`<p class="flash" role="status">${visitor.flash}</p>` : ''}${body}
</main>
<footer><p><a href="${publicPath(config, '/docs')}">API documentation</a> · <a href="${publicPath(config, '/developers/found')}">Found a secret?</a></p>${contactLine(config)}</footer>
${scripts.map((script) => html`<script type="module">${raw(script)}</script>`)}
</body>
</html>`;
  return { text: `<!doctype html>\n${document.html}\n`, contentSecurityPolicy: policyOf(scripts) };
}

/** The policy of an answer that has no page in it, such as one that leads to another page. */
export const EMPTY_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function policyOf(scripts: readonly string[]): string {
  // A script may ask this server, and nobody else.
  const forScripts = scripts.length === 0 ? '' : `script-src ${scripts.map(hashOf).join(' ')}; connect-src 'self'; `;
  return `default-src 'none'; style-src ${STYLE_HASH}; ${forScripts}img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
}

function hashOf(text: string): string {
  return `'sha256-${Bun.SHA256.hash(text, 'base64')}'`;
}

function navigation(config: Config, { kind, name, path }: Visitor): Html {
  const items = LINKS[kind ?? 'nobody'].map(
    ([to, text]) =>
      html`<li><a href="${publicPath(config, to)}"${raw(to === path ? ' aria-current="page"' : '')}>${text}</a></li>`,
  );
  const signOut =
    kind === null
      ? html``
      : html`<li><form method="post" action="${publicPath(config, '/developers/sign-out')}"><button class="link">Sign out${name ? ` (${name})` : ''}</button></form></li>`;
  return html`<nav aria-label="Pages"><ul class="nav">${items}${signOut}</ul></nav>`;
}

/** Whom to ask, where the configuration says so. Only the operator writes this. */
function contactLine({ contact }: Config): Html {
  if (contact === null) return html``;
  const address = /^https?:/.test(contact) ? contact : `mailto:${contact}`;
  return html`<p>Questions? Ask <a href="${address}">${contact}</a>.</p>`;
}
