import { AppError } from '../../shared/errors.ts';
import type { LateAnswer } from '../http/answers.ts';
import { credentialsOf } from '../http/authenticate.ts';
import { blockOf } from '../http/client-address.ts';
import type { Exchange } from '../http/exchange.ts';
import { countFailure } from '../http/throttle.ts';
import type { Service } from '../process/service.ts';
import type { Metrics } from './metrics.ts';

/** The refusals of a request without METRICS_TOKEN's value, or with another token. The OpenAPI document shows them too. */
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
 * `GET /metrics`: the metrics in Prometheus' text format. Throws `no_credentials` or `invalid_token` where the request lacks
 * the token; both count as failed log-ins of the address.
 */
export function metrics(service: Service, { headers, address }: Exchange): Promise<LateAnswer> {
  const { metricsToken } = service.deps.config;
  const token = credentialsOf(headers.get('authorization'));
  if (token === null || metricsToken === null || !isSame(token, metricsToken)) {
    countFailure(service.throttle, blockOf(address));
    throw METRICS_REFUSALS[token === null ? 'no_credentials' : 'invalid_token'];
  }
  return scrape(service.metrics as Metrics);
}

async function scrape({ read, contentType }: NonNullable<Service['metrics']>): Promise<LateAnswer> {
  return { body: await read(), headers: { 'Content-Type': contentType } };
}

/** Compares two tokens in a time that depends on neither: hashes are compared, so that not even the length shows. */
function isSame(token: string, wanted: string): boolean {
  return crypto.timingSafeEqual(Bun.SHA256.hash(token) as Uint8Array, Bun.SHA256.hash(wanted) as Uint8Array);
}
