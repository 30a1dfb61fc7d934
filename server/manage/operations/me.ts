import type { BackendToken } from '../../../shared/backends/backend-tokens.ts';
import { isoTime } from '../../../shared/clock.ts';
import { readOwnerById } from '../../../shared/keys/record.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import type { CliLogin } from '../../../shared/sign-ins/row.ts';
import type { Call, JsonAnswer } from '../request-context.ts';

/** `GET /manage/v1/me`: whose token this is, and what it allows. */
export function me({ access, caller }: Call): JsonAnswer {
  return { body: caller.kind === 'backend' ? backendView(caller.token) : personView(access, caller.token) };
}

function backendView({ identifier, name, rights, excludesContactFields, eraseLimit }: BackendToken): object {
  return { kind: 'platform', name, token: identifier, rights, withoutAddress: excludesContactFields, eraseLimit };
}

function personView(access: Access, { identifier, person, endsAtMs }: CliLogin): object {
  const token = { token: identifier, endsAt: isoTime(endsAtMs) };
  if (person.kind === 'admin') return { kind: 'admin', name: person.name, ...token };
  const { username } = readOwnerById(access.db, person.profileId);
  return { kind: 'owner', name: username, ...token, profile: username };
}
