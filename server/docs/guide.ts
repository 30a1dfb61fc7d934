import guide from '../../docs/api.md' with { type: 'text' };
import type { Config } from '../../shared/config/config.ts';
import { rateLimitWords } from '../../shared/limits/rate-limit.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import { joinWords } from '../../shared/text.ts';
import { docsBar, type FramedPage, foot, framePage } from '../frame/frame.ts';
import { html, raw } from '../html.ts';
import { publicPath } from '../http/public-path.ts';

/** docs/api.md with the name, the URL, the contact and the default rate limits of this installation: `/docs.md`. */
export function guideText(config: Config): string {
  const { publicName, publicUrl, contact, developerPlatform, defaultRateLimits } = config;
  const limits = joinWords(
    defaultRateLimits.map((limit) => rateLimitWords(limit)),
    'and',
  );
  return (
    guide
      // The marks of generated tables.
      .replace(/<!-- .* -->\n\n?/g, '')
      .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (link, text: string, to: string) => {
        if (to.startsWith('#')) return link;
        // Other documents of the repository are not served.
        if (!to.startsWith('/') || (to === '/developers' && !developerPlatform)) return text;
        return `[${text}](${publicPath(config, to)})`;
      })
      .replace('# The Profile Lookup API', () => `# The ${escaped(publicName)} API`)
      // A quote would end the shell's word in the examples.
      .replaceAll('http://127.0.0.1:3000', () => publicUrl.replaceAll("'", '%27'))
      .replace('60 requests per minute and 5000 requests per day', () => limits)
      .replace(/\n(?=\n## )/, () => (contact === null ? '\n' : `\n\nHave questions? Ask ${linkTo(contact)}.\n`))
  );
}

function linkTo(contact: string): string {
  const to = isMailAddress(contact) ? `mailto:${contact}` : contact;
  return `[${escaped(contact)}](<${to.replace(/[<>\\]/g, encodeURIComponent)}>)`;
}

/** A setting as text that Markdown shows as it is. */
function escaped(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, '\\$&');
}

/** The guide as a page: `/docs`. */
export function guidePage(config: Config): FramedPage {
  const options = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true };
  const made = Bun.markdown.html(guideText(config), options);
  const contents = [...made.matchAll(/<h2 id="([^"]+)">(.*?)<\/h2>/g)].map(
    ([, id = '', heading = '']) => html`<li><a href="#${id}">${raw(heading)}</a></li>`,
  );
  // As the script of all pages expects blocks to which it adds a copy button.
  const blocks = made
    .replaceAll('<table>', '<table class="wide" tabindex="0">')
    .replace(
      /<pre>(<code class="language-(\w+)">[\s\S]*?<\/code>)<\/pre>/g,
      (_, code: string, language: string) =>
        `<figure class="code"><figcaption>${LANGUAGES[language] ?? language}</figcaption><pre tabindex="0">${coloured(code)}</pre></figure>`,
    );
  return framePage(config, {
    title: 'API documentation',
    description: 'Public profiles, their links and a leaderboard.',
    scripts: [],
    body: html`<a class="skip" href="#content">Skip to the content</a>
${docsBar(config, '/docs')}
<div class="columns guide">
<nav class="contents" aria-label="Contents"><details><summary>Contents</summary><ul>${contents}</ul></details></nav>
<main id="content" tabindex="-1">${raw(blocks)}</main>
</div>
${foot(config)}`,
  });
}

/** Of a few short examples in HTML: strings, words of the languages, numbers. */
const PARTS =
  /(?<string>`[^`]*`|&quot;.*?&quot;|'[^'\n]*')|(?<word>\b(?:as|async|await|const|def|except|for|function|if|import|in|new|not|of|or|raise|return|throw|try|with)\b)|(?<number>\b(?:\d[\d.]*|true|false|null)\b)/g;

/**
 * Colours a code block. For the seven blocks of the guide highlight.js would take 17 MB of memory, and
 * @speed-highlight/core 7 MB.
 */
function coloured(code: string): string {
  return code.replace(/(?<=>)[^<]+/g, (text) =>
    text.replace(PARTS, (part, ...groups) => {
      const named = groups.at(-1) as Record<string, string | undefined>;
      const kind = Object.keys(named).find((name) => named[name] !== undefined);
      return `<span class="${kind}">${part}</span>`;
    }),
  );
}

const LANGUAGES: Record<string, string> = {
  sh: 'Shell',
  http: 'HTTP',
  json: 'JSON',
  ts: 'TypeScript',
  python: 'Python',
};
