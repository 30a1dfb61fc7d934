import { type Html, html } from '../../html.ts';
import { oneValue, queryValue } from './form.ts';
import type { PageContext } from './request-context.ts';

// The page to return to after signing in: only a path under /developers, so that no link to the sign-in can lead to another
// site.

/**
 * A plain path with percent-encoded parameters: nothing that a browser would interpret as another path, and nothing that could
 * end a header.
 */
const PLAIN_PATH = /^(\/developers(?:\/[A-Za-z0-9_-]+)*)(?:\?(.+))?$/;
const PLAIN_PARAMETER = /^[A-Za-z_-]+=(?:[A-Za-z0-9_.~!'()*+-]|%[0-9A-Fa-f]{2})*$/;

/** Includes the parameters. */
const MAX_PATH_LENGTH = 2_000;

/** Whether a sign-in may redirect to a path with parameters. */
export function isPagePath(path: string): boolean {
  const [, bare, parameters] = (path.length <= MAX_PATH_LENGTH && PLAIN_PATH.exec(path)) || [];
  return bare !== undefined && (parameters ?? 'a=').split('&').every((pair) => PLAIN_PARAMETER.test(pair));
}

/** Adds the page to return to, `next`, to a path. */
export function withNext(path: string, next: string): string {
  return next === '' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** The page to return to, from the query or the form; empty if that is not a page. */
export function nextOf(page: Pick<PageContext, 'query' | 'form'>): string {
  const next = queryValue(page, 'next') || oneValue(page.form, 'next');
  return isPagePath(next) && !/^\/developers\/(admin\/)?sign-(in|out)/.test(next) ? next : '';
}

/** Says why the visitor has to sign in, on a sign-in page that another page redirected to; otherwise empty. */
export function whySignIn(page: Pick<PageContext, 'query' | 'form'>): Html {
  if (nextOf(page) === '') return html``;
  return html`<p class="note">Sign in to see the page you asked for. If you were signed in before, that session has ended.</p>`;
}
