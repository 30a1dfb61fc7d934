import { LIMIT, OFFSET } from '../../shared/api/parameters.ts';
import { answerOf, type MaybeBig } from '../http/big-answers.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryParameters, wholeNumber } from '../http/parameters.ts';
import type { Service } from '../process/service.ts';

/** `GET /api/leaderboard?limit=&offset=`: one page, with a Link header to the next and the previous page (RFC 8288). */
export function leaderboardPage(service: Service, exchange: Exchange): MaybeBig {
  const parameters = queryParameters(exchange.query, ['limit', 'offset']);
  const limit = wholeNumber(parameters, 'limit', LIMIT);
  const offset = wholeNumber(parameters, 'offset', OFFSET);
  return answerOf(service, exchange, () => {
    const { page, total } = service.leaderboard(limit, offset);
    const link = linksOf(service.deps.config.publicUrl, limit, offset, total);
    return { body: page, headers: link === '' ? {} : { Link: link } };
  });
}

function linksOf(publicUrl: string, limit: number, offset: number, total: number): string {
  const page = (at: number, rel: string) => `<${publicUrl}/api/leaderboard?limit=${limit}&offset=${at}>; rel="${rel}"`;
  const links: string[] = [];
  if (offset + limit < total) links.push(page(offset + limit, 'next'));
  if (offset > 0) links.push(page(Math.max(0, offset - limit), 'prev'));
  return links.join(', ');
}
