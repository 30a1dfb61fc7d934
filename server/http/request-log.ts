import { countUsage } from '../../shared/usage/usage-counter.ts';
import { collectAfterRequest } from '../observability/collector.ts';
import type { RequestState } from './request-state.ts';
import type { Serving } from './serving.ts';

/** Logs and counts an answer, just before it is sent. */
export function logAnswer(serving: Serving, state: RequestState, response: Response): void {
  const { clock } = serving.deps;
  const { key, refusal, template, method } = state;
  // Bun adds a Date header (RFC 9110, section 6.6.1) to every answer but those to HEAD.
  if (method === 'HEAD') response.headers.set('Date', new Date(clock.nowMs()).toUTCString());
  const milliseconds = clock.monotonicMs() - state.startedAtMs;
  serving.log.request(state, response.status, milliseconds);
  serving.metrics?.count(template, response.status, refusal, milliseconds);
  if (key !== null) countUsage(serving.counter, key, refusal);
  collectAfterRequest(serving.collector);
}
