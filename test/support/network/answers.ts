import type { z } from 'zod';
import type { Key } from '../../../shared/api/key-bodies.ts';
import type { Me } from '../../../shared/api/manage-bodies.ts';

// What a server answers to profilectl, for tests whose server is not ours.

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

/** Who an admin is. */
export const ADMIN_ANSWER: z.infer<typeof Me> = {
  kind: 'admin',
  name: 'Grace',
  token: 'k7Qm2XaB',
  endsAt: '2099-01-01T00:00:00.000Z',
};

/** What the token of a backend may do that sends profiles. */
export const BACKEND_ANSWER: z.infer<typeof Me> = {
  kind: 'platform',
  name: 'backend',
  token: 'k7Qm2XaB',
  rights: ['profiles'],
  withoutAddress: false,
  eraseLimit: 1_000,
};
