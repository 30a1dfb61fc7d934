import type { Call, JsonAnswer } from '../request-context.ts';

/** `GET /manage/v1/me`: whose token this is, and what it allows. */
export function me({ token }: Call): JsonAnswer {
  const { identifier, name, rights, excludesContactFields, eraseLimit } = token;
  return {
    body: { kind: 'platform', name, token: identifier, rights, withoutAddress: excludesContactFields, eraseLimit },
  };
}
