import { Elysia } from 'elysia';
import { AppError } from '../../shared/errors.ts';
import { countFailure } from '../../shared/throttle.ts';
import { transport } from '../http/every-request.ts';
import { blockOf } from '../http/transport.ts';
import { credentialsOf } from '../http/with-key.ts';
import { METRICS_TYPE, type Metrics } from '../observability/metrics.ts';
import type { Service } from '../service.ts';

/** The refusals of requests without METRICS_TOKEN. */
const METRICS_REFUSALS = {
  no_credentials: new AppError(
    'no_credentials',
    'The value of METRICS_TOKEN is required, sent as "Authorization: Bearer <token>".',
  ),
  invalid_token: new AppError('invalid_token', 'This token is not the value of METRICS_TOKEN.'),
} as const;

/**
 * `/metrics`: the metrics in Prometheus' text format; 404 if METRICS_TOKEN is unset. A request without that token counts as a
 * failed login.
 */
export function metrics(service: Service) {
  const app = new Elysia({ name: 'metrics' }).use(transport(service));
  const { metrics, deps } = service;
  const { metricsToken } = deps.config;
  if (metrics === null || metricsToken === null) return app;
  return app
    .onBeforeHandle(({ request, state }) => {
      authenticateScraper(service, request, state.address, metricsToken);
    })
    .get('/metrics', async () => scrape(metrics));
}

function authenticateScraper({ throttle }: Service, { headers }: Request, address: string, metricsToken: string): void {
  const token = credentialsOf(headers.get('authorization'));
  if (token !== null && isSame(token, metricsToken)) return;
  countFailure(throttle, blockOf(address));
  throw METRICS_REFUSALS[token === null ? 'no_credentials' : 'invalid_token'];
}

async function scrape({ read }: Metrics) {
  return { body: await read(), headers: { 'Content-Type': METRICS_TYPE } };
}

/** Compares two tokens in constant time; comparing their hashes hides even their lengths. */
function isSame(token: string, wanted: string): boolean {
  return crypto.timingSafeEqual(Bun.SHA256.hash(token) as Uint8Array, Bun.SHA256.hash(wanted) as Uint8Array);
}
