import { Elysia } from 'elysia';
import { PAGE_BOUNDS } from '../../shared/profiles/board.ts';
import { operation } from '../docs/operation.ts';
import type { Answer } from '../http/answers.ts';
import { queryOf, queryParameters, type WholeNumber, wholeNumber } from '../http/parameters.ts';
import { withPermission } from '../http/with-key.ts';
import type { Service } from '../service.ts';

/** `/api/leaderboard?limit=&offset=`: one page, with a Link header to the next and the previous page (RFC 8288). */
export function leaderboard(service: Service) {
  const page = ({ request }: { request: Request }) => {
    const { body, headers } = pageOf(service, queryOf(request));
    return { body, headers };
  };
  return new Elysia({ name: 'leaderboard' })
    .use(withPermission(service, 'api.leaderboard'))
    .get('/api/leaderboard', page, PAGE);
}

const LIMIT: WholeNumber = {
  type: 'integer',
  minimum: PAGE_BOUNDS.minLimit,
  maximum: PAGE_BOUNDS.maxLimit,
  default: PAGE_BOUNDS.defaultLimit,
};

const OFFSET: WholeNumber = { type: 'integer', minimum: 0, maximum: PAGE_BOUNDS.maxOffset, default: 0 };

const PAGE = operation({
  id: 'getLeaderboard',
  tag: 'Leaderboard',
  summary: 'Read a page of the leaderboard',
  description:
    'The top 10 000 profiles by views, then by UID, except banned profiles and those that don’t want to be listed. A page before the end has at least one entry, and may have fewer than `limit`, because it ends before 1 MiB. `Link` has the URLs of the previous page and of the next page, which begins after the last entry. Pages beyond the end are empty.',
  permission: 'api.leaderboard',
  parameters: [
    { name: 'limit', in: 'query', description: 'The maximum number of entries.', schema: LIMIT, example: 3 },
    { name: 'offset', in: 'query', description: 'The number of entries before the page.', schema: OFFSET },
  ],
  body: 'LeaderboardPage',
  headers: ['Link'],
});

function pageOf({ leaderboard, deps }: Service, query: string): Answer {
  const parameters = queryParameters(query, ['limit', 'offset']);
  const limit = wholeNumber(parameters, 'limit', LIMIT);
  const offset = wholeNumber(parameters, 'offset', OFFSET);
  const { body, next, total } = leaderboard(limit, offset);
  const link = linksOf(deps.config.publicUrl, limit, offset, next < total ? next : null);
  return { body, headers: link === '' ? undefined : { Link: link } };
}

function linksOf(publicUrl: string, limit: number, offset: number, next: number | null): string {
  const page = (at: number, rel: string) => `<${publicUrl}/api/leaderboard?limit=${limit}&offset=${at}>; rel="${rel}"`;
  const links: string[] = [];
  if (next !== null) links.push(page(next, 'next'));
  if (offset > 0) links.push(page(Math.max(0, offset - limit), 'prev'));
  return links.join(', ');
}
