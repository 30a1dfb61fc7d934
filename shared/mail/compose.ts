import { isoTime } from '../clock.ts';
import { formatRateLimit, type RateLimit, rateLimitWords } from '../limits/rate-limit.ts';
import { cleanForTerminal } from '../text.ts';
import { isMailAddress } from './address.ts';

/** A composed mail; `kind` names it in lists, `identifier` is empty if it is not about one key. */
export type Text = { kind: string; identifier: string; subject: string; text: string };

/** What every mail quotes: the settings PUBLIC_NAME, PUBLIC_URL and CONTACT (an e-mail address, a URL or null). */
export type ServiceNews = { publicName: string; publicUrl: string; contact: string | null };

/** The URL prefix of the pages for owners, or of those for admins; null if nobody can sign in. */
export type Paged = { pages: string | null };

/** A part of a mail: a paragraph, which is wrapped, or lines that are laid out already. */
export type Part = string | { lines: string };

/** The width at which paragraphs, lists, facts and quotes are wrapped. */
const WIDTH = 72;

/** Composes a mail, with `\n` line ends; its last sentence names the contact. */
export function compose(
  kind: string,
  { identifier = '', contact }: { identifier?: string; contact: string | null },
  subject: string,
  parts: readonly Part[],
): Text {
  const all = contact === null ? parts : [...parts, contactPart(contact)];
  const written = all.map((part) => (typeof part === 'string' ? wrap(part, WIDTH).join('\n') : part.lines));
  return { kind, identifier, subject, text: `${written.join('\n\n')}\n` };
}

function contactPart(contact: string): Part {
  return isMailAddress(contact)
    ? `Questions? Reply to this e-mail or write to ${contact}.`
    : link('Questions? Ask here', contact);
}

/** A heading. */
export function heading(text: string): Part {
  return { lines: `\n${text.toUpperCase()}` };
}

/** A list of points. */
export function list(items: readonly string[]): Part {
  return { lines: items.map((item) => indent('- ', '  ', wrap(item, WIDTH - 2))).join('\n') };
}

/** A label and its values, one value on each line. */
export type Fact = readonly [label: string, ...values: string[]];

/** A table of facts. */
export function facts(...rows: readonly Fact[]): Part {
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const row = ([label, ...values]: Fact) => {
    const lines = values.flatMap((value) => wrap(value, WIDTH - 2 - width));
    return indent(`  ${label.padEnd(width)}`, ' '.repeat(width + 2), lines);
  };
  return { lines: rows.map(row).join('\n') };
}

/** Text to copy, such as a secret or a command: on its own lines and never wrapped. */
export function code(...lines: readonly string[]): Part {
  return { lines: lines.join('\n') };
}

/** A URL of this service; URLs that others wrote are never introduced like one. */
export function link(label: string, url: string): Part {
  return { lines: `${label}: ${url}` };
}

/** A link to a page of the portal; nothing if there are no pages. */
export function pageLink(pages: string | null, label: string, path: string): Part[] {
  return pages === null ? [] : [link(label, pages + path)];
}

/** Text that somebody wrote, after a label, marked so that it can't pass for a sentence of this program; nothing for null. */
export function quoted(label: string, text: string | null): Part[] {
  if (text === null) return [];
  const lines = foreign(text, true).split('\n');
  return [label, { lines: lines.map((line) => indent('> ', '> ', wrap(line, WIDTH - 2))).join('\n') }];
}

/** Text that others wrote, without control and bidirectional characters, line separators and whole secrets. */
export function foreign(text: string, lines = false): string {
  return cleanForTerminal(text, lines)
    .replace(/[\u2028\u2029]/g, ' ')
    .replace(/plk_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}/g, 'plk_$1_[removed]');
}

function indent(first: string, further: string, lines: readonly string[]): string {
  return lines.map((line, at) => ((at === 0 ? first : further) + line).trimEnd()).join('\n');
}

/** Breaks a line at spaces; a word that is longer than the width stays whole. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/ +/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/**
 * A rate limit in words: `60/1m (at most 60 requests in any minute)`. In ASCII, without the narrow spaces of pages: otherwise the
 * mail with a secret would be quoted-printable, which breaks its command line.
 */
export function rateLimitInWords(limit: RateLimit): string {
  return `${formatRateLimit(limit)} (at most ${rateLimitWords(limit, 'in any')})`;
}

/** Milliseconds since 1970 as `2026-01-01 00:00:00 UTC`. */
export function timeInWords(ms: number): string {
  return `${isoTime(ms).slice(0, 19).replace('T', ' ')} UTC`;
}

/** The expiry of a key (milliseconds since 1970; null for never) in words. */
export function expiryInWords(ms: number | null): string {
  return ms === null ? 'never; it works until it is revoked' : timeInWords(ms);
}
