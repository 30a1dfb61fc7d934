import { MANY_MAX, MANY_PARAMETERS } from '../../shared/api/parameters.ts';
import { type Asked, type Found, parseUid, type Way } from '../../shared/profiles/read/lookup.ts';
import type { Answer } from '../http/answers.ts';
import { answerOf, type MaybeBig } from '../http/big-answers.ts';
import type { Route } from '../http/chain.ts';
import type { Exchange } from '../http/exchange.ts';
import { pathParameter, queryParameters, queryValues } from '../http/parameters.ts';
import { publicPath } from '../http/public-path.ts';
import { admit, type Quota } from '../http/quota.ts';
import type { Service } from '../process/service.ts';

/** Makes the handler that answers with one SimplifiedProfile, found by username, UID or auth ID. */
export function profileBy(way: Way): NonNullable<Route['answer']> {
  return (service, exchange, route) => {
    const found = service.lookup.profile(way, parameterOf(exchange, route));
    return answerWith(service, found, '');
  };
}

/** Makes the handler that answers with `{"links":[…]}` of one profile, found by username, UID or auth ID. */
export function linksBy(way: Way): NonNullable<Route['answer']> {
  return (service, exchange, route) => {
    const found = service.lookup.links(way, parameterOf(exchange, route));
    return answerWith(service, found, '/links');
  };
}

/** `GET /api/lookup`: answers with up to a hundred profiles. Each distinct query costs one request. */
export function profilesOfMany(service: Service, exchange: Exchange): MaybeBig {
  const { query, quota } = exchange;
  const asked = queryValues(query, MANY_PARAMETERS, MANY_MAX).map(({ name, value }): Asked => {
    if (name === 'uid') parseUid(value);
    return { way: name === 'authid' ? 'authId' : name, value };
  });
  admit(service.limits, quota as Quota, asked.length);
  return answerOf(service, exchange, () => ({ body: service.lookup.many(asked), headers: {} }));
}

function parameterOf({ path, query }: Exchange, route: Route): string {
  const value = pathParameter(route.path, path as string);
  queryParameters(query, []);
  return value;
}

/** Where the profile was found by an alias, Content-Location names the path of its username (RFC 9110, section 8.7). */
function answerWith(service: Service, { text, aliasOf }: Found, suffix: string): Answer {
  if (aliasOf === null) return text;
  const location = publicPath(service.deps.config, `/api/lookup/username/${encodeURIComponent(aliasOf)}${suffix}`);
  return { body: text.body, headers: { 'Content-Location': location } };
}
