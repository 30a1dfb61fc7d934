import { Elysia } from 'elysia';
import { madeOnce } from '../docs/made-once.ts';
import { reading, transport } from '../http/every-request.ts';
import type { Serving } from '../http/serving.ts';

/** `/manage/openapi.json`: the public OpenAPI document of `/manage/v1`, a route of the serving application. */
export function manageOpenApi(serving: Serving) {
  const document = madeOnce(serving, async ({ deps: { config } }) => {
    const { servedManageDocument } = await import('./served.ts');
    return { body: JSON.stringify(servedManageDocument(config)) };
  });
  return new Elysia({ name: 'manage-openapi' })
    .use(transport(serving))
    .use(reading(serving))
    .all('/manage/openapi.json', document)
    .head('/manage/openapi.json', document);
}
