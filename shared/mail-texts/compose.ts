import { isMailAddress } from '../mail/address.ts';
import { renderHtml } from '../mail/html.ts';
import { type Block, renderText } from '../mail/layout.ts';
import type { Mail } from '../mail/mail.ts';
import { foreign } from './mail-wording.ts';

/** Whose service a mail is from, as `PUBLIC_NAME` says, and whom its reader may ask: `CONTACT`, an e-mail address, a URL or null. */
export type Asked = { publicName: string; contact: string | null };

/** Where the pages for owners begin, such as `https://profiles.example.org/developers`; null where they can't sign in. */
export type Paged = { pages: string | null };

/** A label and the values that belong to it, as a mail lists them. */
export type Fact = { label: string; values: readonly string[] };

/** A line of a list of facts. */
export function fact(label: string, ...values: readonly string[]): Fact {
  return { label, values };
}

/** A mail whose text and HTML say the same; its last sentence tells whom to ask. */
export function compose(
  kind: Mail['kind'],
  { identifier, to, contact }: { to: string; identifier: string; contact: string | null },
  title: string,
  blocks: readonly Block[],
): Mail {
  const all = contact === null ? blocks : [...blocks, contactBlock(contact)];
  const replyTo = contact !== null && isMailAddress(contact) ? contact : undefined;
  return { kind, identifier, to, replyTo, subject: title, text: renderText(all), html: renderHtml(title, all) };
}

/** A link to a page of the Developer Platform, `pages` being where they begin; nothing where there are none. */
export function pageLink(pages: string | null, label: string, path: string): Block[] {
  return pages === null ? [] : [{ kind: 'link', label, url: `${pages}${path}` }];
}

/** What others wrote, after a sentence that says what it is; nothing where they wrote nothing. */
export function quoted(label: string, text: string | null): Block[] {
  if (text === null) return [];
  return [
    { kind: 'paragraph', text: label },
    { kind: 'quote', text: foreign(text, true) },
  ];
}

function contactBlock(contact: string): Block {
  return isMailAddress(contact)
    ? { kind: 'paragraph', text: `Questions? Reply to this e-mail or write to ${contact}.` }
    : { kind: 'link', label: 'Questions? Ask here', url: contact };
}
