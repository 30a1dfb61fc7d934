import { Elysia } from 'elysia';
import type { z } from 'zod';
import type { Health } from '../../shared/api/bodies.ts';
import { DAY_MS, isoTime } from '../../shared/clock.ts';
import { AppError } from '../../shared/errors.ts';
import { isMailAddress } from '../../shared/mail/address.ts';
import type { Answer } from '../http/answers.ts';
import { transport } from '../http/every-request.ts';
import type { Service } from '../service.ts';

const OK: Answer = { body: JSON.stringify({ status: 'ok' } satisfies z.infer<typeof Health>) };

/** `/healthz` and `/readyz`, which throws `not_ready` unless the database is open and has the current schema. */
export function health(service: Service) {
  const ready = () => {
    if (!service.isReady()) throw new AppError('not_ready');
    return OK;
  };
  return new Elysia({ name: 'health' })
    .use(transport(service))
    .get('/healthz', () => OK)
    .get('/readyz', ready);
}

/** The days until the contact expires: less than a year, as RFC 9116, section 2.5.5, recommends. */
const EXPIRES_AFTER_DAYS = 180;

/** `/.well-known/security.txt`: the contact for vulnerability reports (RFC 9116); 404 without CONTACT. */
export function securityContact(service: Service) {
  const app = new Elysia({ name: 'security-contact' }).use(transport(service));
  const { contact } = service.deps.config;
  return contact === null ? app : app.get('/.well-known/security.txt', () => contactFile(service, contact));
}

function contactFile({ deps: { clock } }: Service, contact: string): Answer {
  const midnight = Math.floor(clock.nowMs() / DAY_MS) * DAY_MS;
  const expires = isoTime(midnight + EXPIRES_AFTER_DAYS * DAY_MS);
  const lines = [
    `Contact: ${isMailAddress(contact) ? `mailto:${contact}` : contact}`,
    `Expires: ${expires}`,
    'Preferred-Languages: en',
  ];
  return { body: `${lines.join('\n')}\n`, headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
}
