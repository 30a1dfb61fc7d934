import type { z } from 'zod';
import type { Health } from '../../shared/api/bodies.ts';
import { DAY_MS, isoTime } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import type { Answer } from '../http/answers.ts';
import type { Service } from '../process/service.ts';

const OK: Answer = { body: JSON.stringify({ status: 'ok' } satisfies z.infer<typeof Health>) };

/** `GET /healthz`: says that the process answers. */
export function health(): Answer {
  return OK;
}

/** `GET /readyz`: says that the database is open and has the current schema. Throws `not_ready` where that is not so. */
export function readiness(service: Service): Answer {
  if (!service.isReady()) throw new AppError('not_ready');
  return OK;
}

/** In how many days the contact expires: less than a year, as RFC 9116, section 2.5.5, recommends. */
const EXPIRES_AFTER_DAYS = 180;

/** Whether SECURITY_CONTACT is set. */
export function hasContact({ deps: { config } }: Service): boolean {
  return config.securityContact !== null;
}

/** `GET /.well-known/security.txt`: whom to tell of a vulnerability (RFC 9116). */
export function securityContact({ deps: { clock, config } }: Service): Answer {
  const midnight = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
  const expires = isoTime(midnight + EXPIRES_AFTER_DAYS * DAY_MS);
  const lines = [`Contact: ${config.securityContact}`, `Expires: ${expires}`, 'Preferred-Languages: en'];
  return { body: `${lines.join('\n')}\n`, headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
}
