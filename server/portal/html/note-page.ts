import { type Html, html } from '../../html.ts';
import type { Page } from '../requests/request-context.ts';

/** A page that says, instead of what is mostly there, why that can't be done just now; `below` stands under it. */
export function notePage(title: string, sentence: string, below: Html = html``): Page {
  return { title, body: html`<h1>${title}</h1><p class="note">${sentence}</p>${below}` };
}
