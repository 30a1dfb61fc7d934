import { Elysia } from 'elysia';
import { madeOnce } from '../docs/made-once.ts';
import { transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';
import { STYLE_PATH } from './style-path.ts';

/** The style sheet of the pages: it needs nothing of the pages. */
export function pageStyle(serving: Serving) {
  const style = madeOnce(serving, async () => {
    const { PORTAL_STYLE } = await import('./html/style.ts');
    return { body: PORTAL_STYLE, headers: { 'Content-Type': 'text/css; charset=utf-8' } };
  });
  return new Elysia({ name: 'page-style' }).use(transport(serving)).get(STYLE_PATH, style);
}
