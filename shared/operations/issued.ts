import { z } from 'zod';
import { FIELDS, KEY_CHANGE, OPTIONAL_REASON } from '../keys/inputs.ts';
import { MOVES, SECRET_HOLDERS } from '../keys/key.ts';
import { changeKey, moveAndNotify, revokeKey } from '../keys/life/lifecycle.ts';
import { operation, WITH_REASON } from './entry.ts';
import { ADMINS_DECIDE } from './who.ts';

// Decisions of admins on keys that have a secret.

const { identifier } = FIELDS;

/** Changes the permissions, rate limits or expiry of a key that has a secret. */
export const change = operation({
  ...{ name: 'change', who: ADMINS_DECIDE, from: SECRET_HOLDERS, event: 'changed' },
  input: z.object({ identifier, ...KEY_CHANGE.shape }),
  summary: 'Change permissions, rate limits or expiry of a key.',
  doors: {
    command: {
      help: `The secret and everything without a flag stay the same. A limit that keeps its
window keeps what was counted. On a terminal without flags it asks for all.`,
      examples: ['k7Qm2XaB', 'k7Qm2XaB --rate-limit 600/1m --rate-limit 50000/1d', 'k7Qm2XaB --expires never'],
    },
  },
  texts: {
    ...{ history: 'Changed', log: 'Changed key' },
    ...{ title: 'Change key', button: 'Change', formButton: 'Change this key' },
    consequence:
      'The change applies at once, the secret stays the same, and the owner gets an e-mail with the old and new values.',
    done: 'Key changed. Its owner gets an e-mail with the old and new values.',
  },
  keepsRest: true,
  defaults: (_deps, { permissions, rateLimits, expiresAt }) => ({
    permissions,
    rateLimits,
    expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
  }),
  act: (deps, by, { identifier: key, ...wanted }) => changeKey(deps, { identifier: key, change: wanted, by }),
});

/** Suspends an Active key until it is resumed. */
export const suspend = operation({
  ...{ name: 'suspend', who: ADMINS_DECIDE, ...MOVES.suspend },
  input: WITH_REASON,
  summary: 'Suspend an Active key until it is resumed; the reason is mailed.',
  doors: {
    command: {
      examples: ['k7Qm2XaB --reason "It looks up every profile in turn."'],
    },
  },
  texts: {
    ...{ history: 'Suspended: its requests are refused', log: 'Suspended key' },
    ...{ title: 'Suspend key', button: 'Suspend' },
    consequence:
      'Every request that uses this key is refused until it is resumed. The secret, the limits and the requests already counted are kept. The owner gets the reason by e-mail.',
    done: 'Key suspended. Its owner gets the reason by e-mail.',
  },
  isDangerous: true,
  act: (deps, by, input) => moveAndNotify(deps, 'suspend', { ...input, by }),
});

/** Resumes a suspended key. */
export const resume = operation({
  ...{ name: 'resume', who: ADMINS_DECIDE, ...MOVES.resume },
  input: z.object({ identifier }),
  summary: 'Resume a suspended key: the same secret works again.',
  doors: {
    command: { examples: ['k7Qm2XaB'] },
  },
  texts: {
    ...{ history: 'Resumed: the same secret works again', log: 'Resumed key' },
    ...{ title: 'Resume key', button: 'Resume' },
    consequence:
      'The same secret works again at once, with the same limits, unless the profile is banned. The owner gets an e-mail.',
    done: 'Key resumed. Its owner gets an e-mail.',
  },
  alsoConfirmed: (_deps, { refusedFor }) =>
    refusedFor === null ? [] : [['Ban', 'The profile is banned: the key is refused until the ban is lifted.']],
  act: (deps, by, { identifier: key }) => moveAndNotify(deps, 'resume', { identifier: key, reason: null, by }),
});

/** Revokes a key that has a secret. Owners may revoke their own without a reason. */
export const revoke = operation({
  ...{ name: 'revoke', ...MOVES.revoke },
  who: { ...ADMINS_DECIDE, owner: 'own' },
  input: z.object({ identifier, reason: OPTIONAL_REASON }),
  inputOf: { operator: WITH_REASON, admin: WITH_REASON },
  summary: 'Revoke an Active or suspended key; the reason is mailed.',
  doors: {
    command: {
      examples: ['k7Qm2XaB --reason "The secret was public."'],
    },
    ownerPage: {
      path: 'revoke',
      consequence:
        'This can’t be undone. Still need it? If you can request another key, replace this one first, and revoke it once your program has the new secret.',
    },
  },
  texts: {
    ...{ history: 'Revoked', log: 'Revoked key' },
    ...{ title: 'Revoke key', button: 'Revoke' },
    consequence:
      'Every request that uses this key is refused from now on. This can’t be undone. The owner gets the reason by e-mail.',
    done: 'Key revoked. It no longer works.',
  },
  isDangerous: true,
  act: (deps, by, input) => revokeKey(deps, { ...input, by }),
});
