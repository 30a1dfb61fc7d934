import { oneValue } from './form.ts';
import type { Visit } from './request-context.ts';

// Where somebody goes on who had to sign in first: a path of the table of pages and nothing else, so that no link to the
// sign-in can lead elsewhere.

/** A path of a page, with the page to go on to. */
export function withNext(path: string, next: string): string {
  return next === '' ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** The page to go on to, as the query or the form says; empty where that is no page. */
export function nextOf({ pages, query, form }: Pick<Visit, 'pages' | 'query' | 'form'>): string {
  const next = query.get('next') ?? oneValue(form, 'next');
  return pages.isPage(next) && !/^\/developers\/(admin\/)?sign-in/.test(next) ? next : '';
}
