import { type Html, html } from '../../html.ts';
import { oneValue } from './form.ts';
import type { PageContext } from './request-context.ts';

// The page to return to after signing in: only a path of the table of pages, so that no link to the sign-in can lead to
// another site.

/** Adds the page to return to, `next`, to a path. */
export function withNext(path: string, next: string): string {
  return next === '' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** The page to return to, from the query or the form; empty if that is not a page. */
export function nextOf({ services, query, form }: Pick<PageContext, 'services' | 'query' | 'form'>): string {
  const next = query.get('next') ?? oneValue(form, 'next');
  return services.isPage(next) && !/^\/developers\/(admin\/)?sign-in/.test(next) ? next : '';
}

/** Says why the visitor has to sign in, on a sign-in page that another page redirected to; otherwise empty. */
export function whySignIn(context: Parameters<typeof nextOf>[0]): Html {
  if (nextOf(context) === '') return html``;
  return html`<p class="note">Sign in to see the page you asked for. If you were signed in before, that session has ended.</p>`;
}
