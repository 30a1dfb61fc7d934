import { isMailAddress } from '../address.ts';
import { type Block, renderText } from './layout.ts';
import { foreign } from './mail-wording.ts';

/** `PUBLIC_NAME` and `CONTACT`: an e-mail address, a URL or null. */
export type ServiceInfo = { publicName: string; contact: string | null };

/** The URL prefix of the pages for owners, such as `https://profiles.example.org/developers`; null if they can't sign in. */
export type Paged = { pages: string | null };

/** A label and its values in a mail's list of facts. */
export type Fact = { label: string; values: readonly string[] };

/** Makes a fact. */
export function fact(label: string, ...values: readonly string[]): Fact {
  return { label, values };
}

/** A composed mail; `kind` names it in lists, `identifier` is empty if it is not about one key. */
export type Text = { kind: string; identifier: string; subject: string; text: string };

/** Composes a mail; its last sentence names the contact. */
export function compose(
  kind: string,
  { identifier, contact }: { identifier: string; contact: string | null },
  title: string,
  blocks: readonly Block[],
): Text {
  const all = contact === null ? blocks : [...blocks, contactBlock(contact)];
  return { kind, identifier, subject: title, text: renderText(all) };
}

/** A link to a page of the portal; nothing if there are no pages. */
export function pageLink(pages: string | null, label: string, path: string): Block[] {
  return pages === null ? [] : [{ kind: 'link', label, url: `${pages}${path}` }];
}

/** Quotes text that somebody wrote, after a label; nothing if the text is null. */
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
