import type { Config } from '../../../shared/config/config.ts';
import { numberText } from '../../../shared/text.ts';
import { type BarLink, barItems, barMenu, type FramedPage, foot, framePage, topBar } from '../../frame/frame.ts';
import { type Html, html, raw } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Page } from '../requests/request-context.ts';
import localTime from './local-time.browser.js' with { type: 'text' };
import sending from './sending.browser.js' with { type: 'text' };
import { linkedStyles } from './style.ts';

/** What the head of a page shows about its visitor. */
export type Visitor = {
  kind: 'owner' | 'admin' | null;
  /** The admin's name, or the owner's username; empty if nobody is signed in. */
  name: string;
  /** The message about what the last form did. */
  flash?: string | null;
  path?: string;
  /** How many requests are waiting, for an admin. */
  waiting?: number;
};

const DOCS: BarLink = ['/docs', 'Docs'];
const QUEUE = '/developers/admin';
const SESSIONS: BarLink = ['/developers/sessions', 'Sessions'];

/** The links in the head of each page, and those in the menu under the visitor's name. */
const LINKS: Record<'owner' | 'admin' | 'nobody', { bar: readonly BarLink[]; menu: readonly BarLink[] }> = {
  owner: { bar: [['/developers/keys', 'API keys'], DOCS], menu: [SESSIONS] },
  admin: {
    bar: [
      [QUEUE, 'Requests'],
      ['/developers/admin/keys', 'Keys'],
      ['/developers/admin/overview', 'Overview'],
      ['/developers/admin/log', 'Log'],
    ],
    menu: [['/developers/admin/people', 'People'], SESSIONS],
  },
  nobody: { bar: [DOCS, ['/developers/sign-in', 'Sign in']], menu: [] },
};

/** Lays out a page: head with links for the visitor (none if the visitor is unknown), `<main>`, footer. */
export function layPage(config: Config, visitor: Visitor | null, page: Page): FramedPage {
  const { title, where, refusal, body, scripts = [], redirectTo } = page;
  return framePage(config, {
    title: [`${refusal === undefined ? '' : 'Error: '}${title}`, ...(where === undefined ? [] : [where])].join(' – '),
    styles: linkedStyles(config),
    scripts: [localTime, sending, ...scripts],
    hasForms: true,
    asks: scripts.length > 0,
    head: redirectTo === undefined ? html`` : html`<meta http-equiv="refresh" content="0; url=${redirectTo}">\n`,
    body: html`<a class="skip" href="#main">Skip to the content</a>
${visitor === null ? topBar(config, null) : navigation(config, visitor)}
<main id="main" tabindex="-1">
${unbroken(html`${visitor?.flash ? html`<p class="flash" role="status">${visitor.flash}</p>` : ''}${body}`)}
</main>
${foot(html`<p><a href="${publicPath(config, '/docs')}">API documentation</a> · <a href="${publicPath(config, '/developers/found')}">Found a secret?</a></p>${contactLine(config)}<p id="zone" hidden>Times are in your browser’s time zone, <span class="zone"></span>.</p>`)}`,
  });
}

/**
 * A text with "e-mail", after the end of a tag; and the tag that follows, if people edit or choose the text. Everything after the
 * first "e-mail" is optional, so that a long text is read once and not once for each occurrence.
 */
const TEXT = />[^<]*?e-mail[^<]*(<\/(?:textarea|option)>)?/gi;

/** Keeps browsers from breaking a line after the hyphen of "e-mail". */
function unbroken({ html: text }: Html): Html {
  const mark = (part: string, isEdited?: string) =>
    isEdited === undefined ? part.replace(/e-mail/gi, '<span class="word">$&</span>') : part;
  return raw(text.replace(TEXT, mark));
}

function navigation(config: Config, { kind, name, path, waiting = 0 }: Visitor): Html {
  const { bar: links, menu } = LINKS[kind ?? 'nobody'];
  const bar = links.map(
    ([to, text]): BarLink => [to, to === QUEUE && waiting > 0 ? `${text} ${numberText(waiting)}` : text],
  );
  if (kind === null) return topBar(config, bar, path);
  const signOut = html`<form method="post" action="${publicPath(config, '/developers/sign-out')}"><button>Sign out</button></form>`;
  return topBar(
    config,
    bar,
    path,
    barMenu(html`<bdi>${name}</bdi>`, html`${barItems(config, menu, path)}<li>${signOut}</li>`),
  );
}

function contactLine({ contact }: Config): Html {
  if (contact === null) return html``;
  const address = /^https?:/.test(contact) ? contact : `mailto:${contact}`;
  return html`<p>Questions? Ask <a href="${address}">${contact}</a>.</p>`;
}
