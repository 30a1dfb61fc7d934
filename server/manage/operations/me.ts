import type { Call } from '../call.ts';

/** `GET /manage/v1/me`: whose token this is, and what it may do. */
export function me({ token }: Call): object {
  const { identifier, name, rights, isWithoutAddress, eraseLimit } = token;
  return { kind: 'platform', name, token: identifier, rights, withoutAddress: isWithoutAddress, eraseLimit };
}
