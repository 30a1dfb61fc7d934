import type { z } from 'zod';
import type { Key } from '../../../shared/api/key-bodies.ts';
import type { Me } from '../../../shared/api/manage-bodies.ts';

// Responses to profilectl, for tests with a fake server.

/** A pending key. */
export const KEY_ANSWER: z.infer<typeof Key> = {
  identifier: 'k7Qm2XaB',
  profile: 'ada',
  name: 'Bot',
  description: 'Shows badges.',
  projectUrl: null,
  expectedUsage: null,
  state: 'pending',
  requestedPermissions: ['api.lookup'],
  permissions: [],
  rateLimits: [],
  requestedAt: '2026-01-01T00:00:00.000Z',
  decidedAt: null,
  expiresAt: null,
  refusedFor: null,
  successorOf: null,
  addressChangedAt: null,
  attempt: null,
};

/** The response to /me for an admin. */
export const ADMIN_ANSWER: z.infer<typeof Me> = {
  kind: 'admin',
  name: 'Grace',
  token: 'k7Qm2XaB',
  endsAt: '2099-01-01T00:00:00.000Z',
};

/** The response to /me for a backend's token that may send profiles. */
export const BACKEND_ANSWER: z.infer<typeof Me> = {
  kind: 'platform',
  name: 'backend',
  token: 'k7Qm2XaB',
  rights: ['profiles'],
  withoutAddress: false,
  eraseLimit: 1_000,
};
