import { type Html, html } from '../../html.ts';

/**
 * Text that a user wrote. In `<bdi>`, its bidirectional control characters don't affect the text around it. URLs in it
 * don't become links.
 */
export function userText(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}
