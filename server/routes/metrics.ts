import { AppError } from '../../shared/errors.ts';
import type { Service } from '../process/service.ts';
import type { LateAnswer } from '../request/answers.ts';
import { credentialsOf } from '../request/authenticate.ts';
import { blockOf } from '../request/client-address.ts';
import type { Exchange } from '../request/exchange.ts';
import type { Metrics } from '../watching/metrics.ts';

/** How a request without, or with another, METRICS_TOKEN is refused; the OpenAPI document shows it too. */
export const METRICS_REFUSALS = {
  no_credentials: new AppError(
    'no_credentials',
    'The token that METRICS_TOKEN holds is required, sent as "Authorization: Bearer <token>".',
  ),
  invalid_token: new AppError('invalid_token', 'This is not the token that METRICS_TOKEN holds.'),
} as const;

/** Whether METRICS_TOKEN is set. */
export function hasMetrics(service: Service): boolean {
  return service.metrics !== null && service.deps.config.metricsToken !== null;
}

/**
 * `GET /metrics`: how the server does, for Prometheus. Throws, without the token, `no_credentials` or `invalid_token`, each of which counts against the address as on any other path.
 */
export function metrics(service: Service, { headers, address }: Exchange): Promise<LateAnswer> {
  const { metricsToken } = service.deps.config;
  const token = credentialsOf(headers.get('authorization'));
  if (token === null || metricsToken === null || !isSame(token, metricsToken)) {
    service.throttle.count(blockOf(address));
    throw METRICS_REFUSALS[token === null ? 'no_credentials' : 'invalid_token'];
  }
  return scrape(service.metrics as Metrics);
}

async function scrape({ read, contentType }: NonNullable<Service['metrics']>): Promise<LateAnswer> {
  return { body: await read(), headers: { 'Content-Type': contentType } };
}

/** In constant time: hashes are compared, so not even the length of the token shows. */
function isSame(token: string, wanted: string): boolean {
  return crypto.timingSafeEqual(Bun.SHA256.hash(token) as Uint8Array, Bun.SHA256.hash(wanted) as Uint8Array);
}
