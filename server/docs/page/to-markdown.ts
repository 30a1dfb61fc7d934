/** An open element: its name, class and link, and the Markdown of its content so far. */
type Open = { tag: string; kind: string; href: string; text: string };

/** The info strings of code blocks whose captions only name a language. */
const LANGUAGES: Record<string, string> = { Shell: 'sh', HTTP: 'http' };

/** Converts /docs to Markdown, without links within the page and to /docs/try, and without examples in JavaScript and Python. */
export function toMarkdown(page: string): string {
  const open: Open[] = [{ tag: '', kind: '', href: '', text: '' }];
  let main = '';
  let caption = '';
  let text = '';
  const close = () => {
    const element = open.pop() as Open;
    const made = markdownOf(element, open, caption);
    if (element.tag === 'figcaption') caption = element.text;
    if (element.tag === 'main') main = made;
    (open.at(-1) as Open).text += made;
  };
  new HTMLRewriter()
    .on('*', {
      element: (element) => {
        if (!element.canHaveContent) return;
        const [kind, href] = [element.getAttribute('class') ?? '', element.getAttribute('href') ?? ''];
        open.push({ tag: element.tagName, kind, href, text: '' });
        element.onEndTag(close);
      },
    })
    .onDocument({
      text: (chunk) => {
        text += chunk.text;
        if (!chunk.lastInTextNode) return;
        (open.at(-1) as Open).text += textOf(text, open);
        text = '';
      },
    })
    .transform(page);
  return `${main.trim()}\n`;
}

/** The Markdown of the text between tags, without line breaks that only format the HTML. */
function textOf(text: string, open: readonly Open[]): string {
  const isCode = open.some(({ tag }) => tag === 'code');
  if (!isCode && /^\s*\n\s*$/.test(text)) return '';
  const written = isCode ? text : text.replaceAll('&lt;', '\\&lt;');
  return written
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
}

/** The Markdown of an element; a block ends with an empty line. */
function markdownOf({ tag, kind, href, text }: Open, around: readonly Open[], caption: string): string {
  if (kind === 'language' || kind === 'try' || tag === 'figcaption') return '';
  if (kind === 'pill needs' || tag === 'small') return `(${text})`;
  if (/^h\d$/.test(tag)) return `${'#'.repeat(Number(tag[1]))} ${text}\n\n`;
  switch (tag) {
    case 'p':
      return `${text}\n\n`;
    case 'summary':
      // A heading inside has already added an empty line.
      return `${text.trimEnd()}\n\n`;
    case 'li':
      return `- ${text}\n`;
    case 'ul':
    case 'table':
      return `${text}\n`;
    case 'ol': {
      let number = 0;
      return `${text.replace(/^- /gm, () => `${++number}. `)}\n`;
    }
    case 'th':
    case 'td':
      // A cell is one line, so the items of a list are joined.
      return ` ${text.trim().replace(/^- /, '').replaceAll('\n- ', '; ').replaceAll('|', '\\|')} |`;
    case 'tr':
      return `|${text}\n`;
    case 'thead':
      return `${text}|${'---|'.repeat(text.split('|').length - 2)}\n`;
    case 'figure':
      return codeBlock(text, caption);
    case 'code':
      return around.some((element) => element.tag === 'pre') ? text : `\`${text}\``;
    case 'strong':
      return `**${text}**`;
    case 'q':
      return `“${text}”`;
    case 'a':
      return href.startsWith('#') ? text : `[${text}](${href})`;
    default:
      return text;
  }
}

function codeBlock(code: string, caption: string): string {
  const language = LANGUAGES[caption];
  const [label, info] =
    language === undefined ? [`${caption}\n\n`, /\.(\w+)/.exec(caption)?.[1] ?? ''] : ['', language];
  return `${label}\`\`\`${info}\n${code}\n\`\`\`\n\n`;
}
