import { etagOf } from '../../shared/etag.ts';
import type { Service } from '../process/service.ts';
import type { Answer, LateAnswer } from '../request/answers.ts';
import type { Route } from '../request/chain.ts';
import { publicPath } from '../request/public-path.ts';

type Handler = NonNullable<Route['answer']>;

/** Five minutes: long enough for a page's reader, short enough for who has just updated the server. */
const CACHED = 'public, max-age=300';

/**
 * `GET /openapi.json`: the document of these routes. Sent through our own chain and not by @elysiajs/swagger (1.3.1, fed
 * with this document): its routes stand beside the chain, so that another method gets a plain-text "not found", and ETag,
 * log and our kind of refusal are missing; its page loads Scalar's latest script from a CDN under no policy.
 */
export const openApi: Handler = madeOnce(async ({ deps: { config } }) => {
  const { servedDocument } = await import('../api-doc/served.ts');
  return { body: JSON.stringify(servedDocument(config.publicUrl)) };
});

/** `GET /docs`: the same document as a page for people. */
export const docs: Handler = madeOnce(async ({ deps: { config } }) => {
  const { docsPage } = await import('../api-doc/page/page.ts');
  const { servedDocument } = await import('../api-doc/served.ts');
  const page = docsPage(servedDocument(config.publicUrl), publicPath(config, '/openapi.json'));
  return {
    body: page.html,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': page.contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
    },
  };
});

/** `GET /`: leads to the page. */
export function home({ deps: { config } }: Service): Answer {
  return { status: 302, body: '', headers: { Location: publicPath(config, '/docs') } };
}

/** An answer that depends on the configuration alone: made at its first request, and only then is loaded what makes it. */
function madeOnce(make: (service: Service) => Promise<LateAnswer>): Handler {
  const made = new WeakMap<Service, LateAnswer>();
  return async (service) => {
    const known = made.get(service);
    if (known !== undefined) return known;
    const { body, headers } = await make(service);
    const answer = { body, headers: { ...headers, 'Cache-Control': CACHED, ETag: etagOf(body) } };
    made.set(service, answer);
    return answer;
  };
}
