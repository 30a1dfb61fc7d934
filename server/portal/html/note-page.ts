import { type Html, html } from '../../html.ts';
import type { Page } from '../requests/request-context.ts';

/** A page that says why its usual content is not available right now; `below` follows that sentence. */
export function notePage(title: string, sentence: string, below: Html = html``): Page {
  return { title, body: html`<h1>${title}</h1><p class="note">${sentence}</p>${below}` };
}
