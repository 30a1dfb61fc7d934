import type { Found, Way } from '../../shared/profiles/lookup.ts';
import type { Answer } from '../answers.ts';
import type { Route } from '../chain.ts';
import type { Exchange } from '../exchange.ts';
import { pathParameter, queryParameters } from '../parameters.ts';
import type { Service } from '../service.ts';

/** Answers with the SimplifiedProfile that is found this way. */
export function profileBy(way: Way): NonNullable<Route['answer']> {
  return (service, exchange, route) => {
    const found = service.lookup.profile(way, parameterOf(exchange, route));
    return answerWith(service, found, '');
  };
}

/** Answers with `{"links":[…]}` of the profile that is found this way. */
export function linksBy(way: Way): NonNullable<Route['answer']> {
  return (service, exchange, route) => {
    const found = service.lookup.links(way, parameterOf(exchange, route));
    return answerWith(service, found, '/links');
  };
}

function parameterOf({ path, query }: Exchange, route: Route): string {
  const value = pathParameter(route.path, path as string);
  queryParameters(query, []);
  return value;
}

/** Where an alias led here, the answer names the profile's own place (RFC 9110, section 8.7). */
function answerWith(service: Service, { body, aliasOf }: Found, suffix: string): Answer {
  if (aliasOf === null) return { body };
  const { pathname } = new URL(service.deps.config.publicUrl);
  const prefix = pathname.replace(/\/$/, '');
  const location = `${prefix}/api/lookup/username/${encodeURIComponent(aliasOf)}${suffix}`;
  return { body, headers: { 'Content-Location': location } };
}
