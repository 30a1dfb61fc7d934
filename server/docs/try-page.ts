import { openapi } from '@elysiajs/openapi';
import { Elysia } from 'elysia';
import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import type { Config } from '../../shared/config/config.ts';
import { docsBar, type FramedPage, headOf, styleBeside, TRY_PATHS } from '../frame/frame.ts';
import { publicPath } from '../http/public-path.ts';
import ours from './swagger-ui.browser.js' with { type: 'text' };

/**
 * Creates `/docs/try`: Swagger UI for `/openapi.json`, in which readers send requests with their own key. `@elysiajs/openapi`
 * makes the page; the bar at its top is ours. Because much third-party script runs on the origin of the portal's cookies, the
 * Content-Security-Policy allows only the page's two files, its inline script and style by their hashes, and connections to
 * the API and its document: the script can't reach `/developers` or `/manage` by a request, a frame or a new window. The policy
 * has absolute URLs, so the page works only at `PUBLIC_URL`.
 */
export async function tryPage(config: Config): Promise<FramedPage> {
  const plugin = openapi({
    path: '/page',
    // Relative to the URL of the page, /docs/try.
    specPath: '../openapi.json',
    provider: 'swagger-ui',
    documentation: {
      info: {
        // The plugin inserts it into the page as it is.
        title: Bun.escapeHTML(`Try it – API documentation – ${config.publicName}`),
        version: '',
        description: 'Send requests with your own API key.',
      },
    },
    swagger: {
      cdn: publicPath(config, TRY_PATHS.script),
      theme: publicPath(config, TRY_PATHS.style),
      persistAuthorization: false,
      // Links can open the page at an operation.
      deepLinking: true,
    },
  });
  const made = await new Elysia().use(plugin).handle(new Request('http://localhost/page'));
  const bar = docsBar(config, config.publicUrl + TRY_PATHS.page);
  const html = await new HTMLRewriter()
    .on('head', { element: (head) => void head.append(headOf(config).html, { html: true }) })
    .on('body', { element: (body) => void body.prepend(bar.html, { html: true }) })
    .transform(made)
    .text();
  return { html, contentSecurityPolicy: policyOf(html, config.publicUrl) };
}

function policyOf(html: string, publicUrl: string): string {
  const at = (path: string) => (publicUrl + path).replace(/[;,]/g, encodeURIComponent);
  return [
    "default-src 'none'",
    `script-src ${at(TRY_PATHS.script)} ${hashOf(html, 'script')}`,
    `style-src ${at(TRY_PATHS.style)} ${hashOf(html, 'style')}`,
    'img-src data:',
    `connect-src ${at('/api/')} ${at('/openapi.json')}`,
    "frame-src 'none'",
    "worker-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // Without allow-popups, window.open opens nothing; without allow-forms, no form is sent.
    'sandbox allow-scripts allow-same-origin',
  ].join('; ');
}

/** The CSP hash of the page's inline script or style. Throws if there is another: it would be somebody else's. */
function hashOf(html: string, element: 'script' | 'style'): string {
  const inline = [...html.matchAll(new RegExp(`<${element}[^>]*>([^<][\\s\\S]*?)</${element}>`, 'gi'))];
  if (inline.length !== 1) throw new Error(`/docs/try has ${inline.length} inline ${element}s`);
  return `'sha256-${Bun.SHA256.hash(inline[0]?.[1] ?? '', 'base64')}'`;
}

/** Swagger UI's script, followed by ours, which runs before the page starts it. */
export async function tryScript(): Promise<string> {
  return `${await Bun.file(bundlePath).text()}\n${ours}`;
}

/** Swagger UI's style sheet, followed by ours. */
export async function tryStyle(): Promise<string> {
  return `${await Bun.file(stylePath).text()}\n${styleBeside('#swagger-ui')}\n${OURS}`;
}

/**
 * Gives Swagger UI the colours, type and width of our pages, in light and dark; the page's own style would invert it in dark mode.
 * Code blocks stay dark in both. Responses have no links, and the bar has the document's.
 */
const OURS = `
body { margin: 0; background: var(--ground); color: var(--text); }
#swagger-ui :is(.swagger-ui, .microlight) { filter: none; }
#swagger-ui { font: var(--base); }
#swagger-ui :not(:where(.microlight, .microlight *)) { border-color: var(--hair); color: inherit; text-shadow: none; }
#swagger-ui svg { fill: currentcolor; }
#swagger-ui .wrapper { max-width: calc(var(--width) + 2rem); padding-inline: var(--s16); }
#swagger-ui .info { margin: var(--s32) 0 var(--s16); }
#swagger-ui .info .title { margin: 0; font: var(--title); }
#swagger-ui :is(.info .title span, .info .link, .response-col_links) { display: none; }
#swagger-ui .scheme-container { margin: 0; padding: 0 0 var(--s16); background: none; box-shadow: none; }
#swagger-ui .scheme-container .schemes { align-items: end; }
#swagger-ui .opblock-tag { padding: var(--s12) 0; font: 600 0.9375rem / 1.5rem var(--sans); }
#swagger-ui .opblock-tag small { padding-inline: var(--s8); color: var(--soft); }
#swagger-ui :is(.opblock, .dialog-ux .modal-ux) { border: 1px solid var(--hair); border-radius: var(--r10); background: var(--card); box-shadow: var(--shade); }
#swagger-ui .opblock { margin-bottom: var(--s8); }
#swagger-ui .opblock-summary-method { min-width: 3.5rem; border-radius: var(--r6); background: var(--accent-ground); color: var(--accent); }
#swagger-ui :is(.opblock-summary-path, .opblock-summary-path a) { font: 500 0.8125rem / 1.5rem var(--mono); }
#swagger-ui .opblock-section-header { background: var(--raised); box-shadow: none; }
#swagger-ui :is(.opblock-section-header h4, h4, h5, th, label) { font: 500 0.875rem / 1.25rem var(--sans); }
#swagger-ui .btn { border-color: var(--rim); border-radius: var(--r6); background: var(--card); box-shadow: var(--shade); font-weight: 500; }
#swagger-ui .btn:is(.execute, .authorize) { border-color: transparent; background: var(--fill); color: var(--on-fill); }
#swagger-ui :is(input, textarea, select) { border: 1px solid var(--edge); border-radius: var(--r6); background: var(--card); box-shadow: none; font: var(--base); }
#swagger-ui select { appearance: auto; }
#swagger-ui :is(.parameter__type, .parameter__in, .opblock-summary-description) { color: var(--soft); }
#swagger-ui :is(.required, .parameter__name.required::after, .parameter__name.required span) { color: var(--bad); }
#swagger-ui :is(.model-box, .json-schema-2020-12, .markdown code, .renderedMarkdown code) { background: var(--raised); }
#swagger-ui :is(.json-schema-2020-12-accordion, .json-schema-2020-12-expand-deep-button) { background: none; }
`;
