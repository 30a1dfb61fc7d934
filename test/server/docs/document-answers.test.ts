import { afterAll, describe, expect, test } from 'bun:test';
import { createApp } from '../../../server/app.ts';
import { toTemplate } from '../../../server/docs/openapi/builder.ts';
import { API_OPERATIONS } from '../../../server/docs/openapi/operations.ts';
import { readOperations, resolved } from '../../../server/docs/openapi/read.ts';
import type { Operation } from '../../../server/docs/openapi/types.ts';
import { closeService, createService, type Service } from '../../../server/process/service.ts';
import { AppError } from '../../../shared/errors.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { systemRandom } from '../../../shared/random.ts';
import { getRaw, type RawAnswer } from '../../support/http.ts';
import { METRICS_TOKEN, startSampleServer } from '../../support/machine/sample-server.ts';
import { ROUTES } from '../../support/requests.ts';
import { drawQuarter, seededRandom } from '../../support/rounds.ts';
import { testClock, testDeps } from '../../support/world.ts';

// Triggers every response in the document: each path, each status, each sentence.

const { server, keys, document } = await startSampleServer();

/** Whether the document has an example of this refusal for an operation. */
function hasExample({ responses }: Operation, code: string): boolean {
  return Object.values(responses).some(
    (response) => code in (resolved(document, response).content?.['application/json']?.examples ?? {}),
  );
}

const chance = seededRandom('paths of documented refusals');

describe('the server sends every documented response, with its sentence', () => {
  const puppet = startPuppet();

  /** The refusals that are alike at all paths and take long to trigger: each is tried at some paths by default. */
  const drawn: Record<string, Set<string>> = Object.fromEntries(
    ['rate_limited', 'too_many_failures', 'internal', 'busy', 'not_ready'].map((code) => {
      const paths = readOperations(document).filter(({ operation }) => hasExample(operation, code));
      return [code, new Set(drawQuarter(paths, chance).map(({ path }) => path))];
    }),
  );

  for (const route of ROUTES.filter(({ path }) => path !== '/')) {
    const path = toTemplate(route.path);
    const doc = API_OPERATIONS[route.path] as NonNullable<(typeof API_OPERATIONS)[string]>;
    const { operation } = readOperations(document).find((one) => one.path === path) as { operation: Operation };
    const { responses } = operation;
    const target = Object.values(doc.examples ?? {})[0]?.target ?? route.path;
    for (const [status, response] of Object.entries(responses)) {
      const examples = resolved(document, response).content?.['application/json']?.examples ?? {};
      const codes = Number(status) >= 400 ? Object.keys(examples) : ['found'];
      for (const code of codes.filter((one) => drawn[one]?.has(path) ?? true)) {
        test(`${path}: ${status}, ${code}`, async () => {
          const subject = { target, route, puppet, refused: (doc.refused ?? {}) as Record<string, string> };
          const answer = await (TRIGGERS[Number(status) === 304 ? 'unchanged' : code] as Trigger)(subject);
          expect(answer.status).toBe(Number(status));
          if (code !== 'found') expect(JSON.parse(answer.body)).toEqual(examples[code]?.value);
        });
      }
    }
  }

  const others = Object.entries(document['x-other-requests'].responses);
  for (const [status, response] of others) {
    for (const [code, { value }] of Object.entries(
      resolved(document, response).content?.['application/json']?.examples ?? {},
    )) {
      test(`other paths: ${status}, ${code}`, async () => {
        const route = { path: '/api/nothing', access: 'any key' } as const;
        const answer = await (TRIGGERS[code] as Trigger)({ target: '/api/nothing', route, puppet, refused: {} });
        expect([answer.status, JSON.parse(answer.body)]).toEqual([Number(status), value]);
      });
    }
  }
});

type Subject = {
  target: string;
  route: (typeof ROUTES)[number];
  puppet: Puppet;
  /** By refusal code: a target that is refused with it. */
  refused: Record<string, string>;
};
type Trigger = (subject: Subject) => Promise<RawAnswer>;

const bearer = (by: string) => [`Authorization: Bearer ${by}`];
let address = 0;

/** How to trigger each response. */
const TRIGGERS: Record<string, Trigger> = {
  found: ({ target }) => getRaw(server, target, bearer(target === '/metrics' ? METRICS_TOKEN : keys.both.secret)),
  unchanged: ({ target }) => getRaw(server, target, [...bearer(keys.both.secret), 'If-None-Match: *']),
  bad_parameter: ({ refused }) => getRaw(server, refused.bad_parameter as string, bearer(keys.both.secret)),
  not_found: ({ refused }) => getRaw(server, refused.not_found as string, bearer(keys.both.secret)),
  bad_request: ({ target }) => getRaw(server, target, ['Host: ']),
  no_credentials: ({ target }) => getRaw(server, target),
  invalid_token: ({ target }) => getRaw(server, target, bearer('guess')),
  plain_http: ({ target }) => getRaw(server, target, ['X-Forwarded-Proto: http']),
  insufficient_scope: ({ target, route }) =>
    getRaw(server, target, bearer(route.access === 'api.lookup' ? keys.leaderboard.secret : keys.lookup.secret)),
  uri_too_long: ({ route, target }) => {
    const long = route.path.includes(':') ? route.path.replace(/:\w+/, 'a'.repeat(8_200)) : target + 'a'.repeat(8_200);
    return getRaw(server, long, bearer(keys.both.secret));
  },
  rate_limited: async ({ target }) => {
    server.deps.clock.advance(60_001);
    const sixty = Array.from({ length: 60 }, (_, index) => `uid=${index + 1}`).join('&');
    await getRaw(server, `/api/lookup?${sixty}`, bearer(keys.sixty.secret));
    server.deps.clock.advance(48_500);
    return getRaw(server, target.replace(/\?.*/, '?uid=7'), bearer(keys.sixty.secret));
  },
  too_many_failures: async ({ target }) => {
    const from = [`X-Forwarded-For: 192.0.2.${++address}`];
    for (let turn = 0; turn < 30; turn++) await getRaw(server, target, from);
    server.deps.clock.advance(18_500);
    return getRaw(server, target, from);
  },
  unknown_path: async ({ target, route }) => {
    if (route.path === '/api/nothing') return getRaw(server, target, bearer(keys.both.secret));
    const { config } = server.deps;
    const { securityContact, metricsToken } = config;
    Object.assign(config, { securityContact: null, metricsToken: null });
    const answer = await getRaw(server, target);
    Object.assign(config, { securityContact, metricsToken });
    return answer;
  },
  method_not_allowed: () => getRaw(server, '/api/key', bearer(keys.both.secret), 'POST'),
  internal: ({ target, puppet }) => puppet.ask(target, failing(new Error('a fault'))),
  busy: ({ target, puppet }) => puppet.ask(target, failing(new AppError('busy', 'locked'))),
  not_ready: ({ target, puppet }) => puppet.ask(target, { isReady: () => false }),
};

/** Parts of a service that always fail with this error: checking keys, and reading metrics. */
function failing(error: Error): Partial<Service> {
  const fail = () => {
    throw error;
  };
  return { verify: fail, metrics: { count: () => undefined, read: fail, contentType: '' } };
}

type Puppet = { ask: (target: string, changes: Partial<Service>) => Promise<RawAnswer> };

/** The real server on a socket, with parts that can be made to fail. */
function startPuppet(): Puppet {
  const deps = { ...testDeps({ variables: { METRICS_TOKEN } }), clock: testClock() };
  const whole = createService(deps, () => undefined);
  let service = whole;
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => createApp(service).fetch(request),
  });
  afterAll(async () => {
    await listener.stop(true);
    closeService(whole);
  });
  return {
    ask: (target, changes) => {
      service = { ...whole, ...changes };
      const secret = target === '/metrics' ? METRICS_TOKEN : newSecret('k7Qm2XaB', systemRandom);
      return getRaw({ port: listener.port as number }, target, bearer(secret));
    },
  };
}
