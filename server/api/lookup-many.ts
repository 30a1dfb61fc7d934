import { Elysia } from 'elysia';
import { type LookupQuery, parseUid } from '../../shared/profiles/lookup.ts';
import { operation } from '../docs/operation.ts';
import { queryOf, queryValues } from '../http/parameters.ts';
import { admit } from '../http/quota.ts';
import { admitted, withPermission } from '../http/with-key.ts';
import type { RequestState, Service } from '../service.ts';
import { UID } from './lookup.ts';

/** The maximum number of names in a batch lookup, of all kinds together. */
export const MANY_MAX = 100;

const PARAMETERS = ['username', 'uid', 'authid'] as const;

/** `/api/lookup`: up to a hundred profiles in one response. Each distinct query counts as one request. */
export function lookupMany(service: Service) {
  const profiles = ({ request, state }: { request: Request; state: RequestState }) => {
    const queries = queriesOf(request);
    admit(service.limits, admitted(state).quota, queries.length);
    const body = service.lookup.many(queries);
    return { body };
  };
  return new Elysia({ name: 'lookup-many' })
    .use(withPermission(service, 'api.lookup', 'by route'))
    .get('/api/lookup', profiles, MANY);
}

const repeated = (name: string, what: string, items: object, example: unknown) => ({
  name,
  in: 'query' as const,
  description: `${what} May be repeated: 1 to ${MANY_MAX} usernames, UIDs and auth IDs in all.`,
  schema: { type: 'array', items, maxItems: MANY_MAX },
  example,
});

const MANY = operation({
  id: 'getProfiles',
  tag: 'Lookup',
  summary: 'Look up many profiles at once',
  description:
    '`profiles` has the profiles that were found, `missing` the queries without a profile, both in the order of the request; a repeated query is answered once. The request costs as many requests as it has distinct queries, all or nothing, or one if it is refused for a reason other than the rate limits. If a limit could never admit that many at once, or the response would exceed 1 MiB (which costs the full price), the request gets a 400: look the profiles up in several requests.',
  permission: 'api.lookup',
  parameters: [
    repeated('username', 'A username or an alias.', { type: 'string' }, ['Ada', 'ghost']),
    repeated('uid', 'A UID. If one is malformed, the whole request is refused.', UID, [12]),
    repeated('authid', 'An auth ID.', { type: 'string' }, ['auth0|3c6ef362']),
  ],
  body: 'FoundProfiles',
});

function queriesOf(request: Request): LookupQuery[] {
  return queryValues(queryOf(request), PARAMETERS, MANY_MAX).map(({ name, value }): LookupQuery => {
    if (name === 'uid') parseUid(value);
    return { way: name === 'authid' ? 'authId' : name, value };
  });
}
