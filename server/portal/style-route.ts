import { Elysia } from 'elysia';
import { madeOnce } from '../docs/made-once.ts';
import { reading, transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';
import { STYLE_PATH } from './style-path.ts';

/** The style sheet of the pages, a route of the serving application: it needs neither the portal's thread nor its limits. */
export function pageStyle(serving: Serving) {
  const style = madeOnce(serving, async ({ deps: { config } }) => {
    const { portalStyle } = await import('./html/style.ts');
    return { body: portalStyle(config), headers: { 'Content-Type': 'text/css; charset=utf-8' } };
  });
  return new Elysia({ name: 'page-style' })
    .use(transport(serving))
    .use(reading(serving))
    .all(STYLE_PATH, style)
    .head(STYLE_PATH, style);
}
