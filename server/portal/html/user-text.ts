import { type Html, html } from '../../html.ts';

/**
 * A text that somebody wrote, on its own: characters in it that turn the direction of writing turn nothing around it
 * (`<bdi>`), its line feeds are shown, and an address in it is no link.
 */
export function written(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}
