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

/** Swagger UI's style sheet, followed by ours, which is mostly about the bar. */
export async function tryStyle(): Promise<string> {
  return `${await Bun.file(stylePath).text()}\n${styleBeside('#swagger-ui')}\n${OURS}`;
}

/** These buttons have the browser's colours, which in dark mode the page's own style would invert. Responses have no links. */
const OURS = `
body { margin: 0; }
#swagger-ui :is(.json-schema-2020-12-accordion, .json-schema-2020-12-expand-deep-button) { background: none; color: inherit; }
#swagger-ui .response-col_links { display: none; }
`;
