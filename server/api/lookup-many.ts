import { Elysia } from 'elysia';
import { MANY_MAX, MANY_PARAMETERS } from '../../shared/api/parameters.ts';
import { type LookupQuery, parseUid } from '../../shared/profiles/lookup/lookup.ts';
import { queryOf, queryValues } from '../http/parameters.ts';
import { admit } from '../http/quota.ts';
import type { RequestState } from '../http/request-state.ts';
import type { Serving } from '../http/serving.ts';
import { admitted, withPermission } from '../http/with-key.ts';

/** `/api/lookup`: up to a hundred profiles in one response. Each distinct query counts as one request. */
export function lookupMany(serving: Serving) {
  const profiles = ({ request, state }: { request: Request; state: RequestState }) => {
    const queries = queriesOf(request);
    admit(serving.limits, admitted(state).quota, queries.length);
    const body = serving.lookup.many(queries);
    return { body };
  };
  return new Elysia({ name: 'lookup-many' })
    .use(withPermission(serving, 'api.lookup', 'by route'))
    .all('/api/lookup', profiles)
    .head('/api/lookup', profiles);
}

function queriesOf(request: Request): LookupQuery[] {
  return queryValues(queryOf(request), MANY_PARAMETERS, MANY_MAX).map(({ name, value }): LookupQuery => {
    if (name === 'uid') parseUid(value);
    return { way: name === 'authid' ? 'authId' : name, value };
  });
}
