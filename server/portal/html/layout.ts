import type { Config } from '../../../shared/config/config.ts';
import { numberText } from '../../../shared/text.ts';
import { type BarLink, barItems, barMenu, type FramedPage, foot, framePage, topBar } from '../../frame/frame.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Page } from '../requests/request-context.ts';
import localTime from './local-time.browser.js' with { type: 'text' };
import sending from './sending.browser.js' with { type: 'text' };

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
const SESSIONS: BarLink = ['/developers/sessions', 'Your sign-ins'];

/** Lays out a page: head with links for the visitor (none if the visitor is unknown), `<main>`, footer. */
export function layPage(config: Config, visitor: Visitor | null, page: Page): FramedPage {
  const { title, where, refusal, body, scripts = [] } = page;
  return framePage(config, {
    title: [`${refusal === undefined ? '' : 'Error: '}${title}`, ...(where === undefined ? [] : [where])].join(' – '),
    scripts: [localTime, sending, ...scripts],
    hasForms: true,
    asks: scripts.length > 0,
    body: html`<a class="skip" href="#main">Skip to the content</a>
${visitor === null ? topBar(config, null) : navigation(config, visitor)}
<main id="main" tabindex="-1">
${visitor?.flash ? html`<p class="flash" role="status">${visitor.flash}</p>` : ''}${body}
</main>
${foot(config)}`,
  });
}

function navigation(config: Config, { kind, name, path, waiting = 0 }: Visitor): Html {
  if (kind === null)
    return topBar(config, [DOCS], path, html`<a href="${publicPath(config, '/developers/sign-in')}">Sign in</a>`);
  const count = html`<span class="number"><span class="unseen">, waiting: </span>${numberText(waiting)}</span>`;
  const requests: BarLink = ['/developers/admin', html`Requests${waiting > 0 ? count : ''}`];
  const bar: readonly BarLink[] =
    kind === 'owner'
      ? [['/developers/keys', 'API keys'], DOCS]
      : [
          requests,
          ['/developers/admin/keys', 'Keys'],
          ['/developers/admin/overview', 'Overview'],
          ['/developers/admin/log', 'Log'],
        ];
  const menu = kind === 'owner' ? [SESSIONS] : [['/developers/admin/people', 'People and passkeys'] as const, SESSIONS];
  const signOut = html`<form method="post" action="${publicPath(config, '/developers/sign-out')}"><button class="bare">Sign out</button></form>`;
  const items = html`${barItems(config, menu, path)}<li>${signOut}</li>`;
  return topBar(config, bar, path, barMenu(html`<bdi>${name}</bdi>`, items));
}
