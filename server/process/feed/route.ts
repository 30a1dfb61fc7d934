import { Elysia } from 'elysia';
import { transport } from '../../http/every-request.ts';
import type { RequestState } from '../../http/request-state.ts';
import { FEED_PATH } from '../../manage/request-context.ts';
import type { Service } from '../service.ts';

/** `POST /manage/v1/profiles`: imports a backend's profiles. The portal answers other methods, as for all of `/manage`. */
export function feed(service: Service) {
  const importLines = async ({ request, state }: { request: Request; state: RequestState }) => {
    const { answerFeed } = await import('./feed.ts');
    const answer = await answerFeed(service, request, state);
    return answer;
  };
  return new Elysia({ name: 'feed' }).use(transport(service)).post(FEED_PATH, importLines, { parse: 'none' });
}
