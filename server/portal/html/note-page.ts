import { type Html, html } from '../../html.ts';
import type { Page } from '../requests/request-context.ts';
import { pageSentence } from './time.ts';

/** A page that says why its usual content is not available right now. `where` is its section, `below` follows the sentence. */
export function notePage(
  title: string,
  sentence: string,
  { where, below = html`` }: { where?: string; below?: Html } = {},
): Page {
  return {
    title,
    ...(where !== undefined && { where }),
    body: html`<div class="ask stack"><h1>${title}</h1><p class="note">${pageSentence(sentence)}</p>${below}</div>`,
  };
}
