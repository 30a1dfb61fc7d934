import { z } from 'zod';
import { beginApproval, checkOpenable, refuseWithoutMail } from '../approval/approve.ts';
import { FIELDS, GRANT, KEY_CHANGE, OPTIONAL_REASON } from '../keys/fields.ts';
import { usualRateLimits } from '../keys/grant.ts';
import { MOVES, SECRET_HOLDERS, WITH_SECRET } from '../keys/key.ts';
import { changeKey, moveAndNotify, type Outcome } from '../keys/life.ts';
import { ADMINS_DECIDE, operation, type Unfinished, WITH_REASON } from './entry.ts';

const { identifier } = FIELDS;

/** Decisions of admins: first those on requests, then those on keys that have a secret. */
export const ADMINS_OPERATIONS = {
  /** Starts the approval of a request; `finish` of its output mails the secret. */
  approve: operation({
    name: 'approve',
    who: ADMINS_DECIDE,
    ...MOVES.approve,
    input: z.object({ identifier, ...GRANT.shape }),
    summary: 'Approve a pending request, and mail the secret to the owner, once.',
    help: `On a terminal it offers the pending requests if none is named, asks for what is
not given, and mails nothing until you confirm. Otherwise, or with --yes, it
grants the requested permissions, with DEFAULT_RATE_LIMITS or the limits of the
old key, and no expiry.`,
    examples: ['', 'k7Qm2XaB --rate-limit 60/1m --expires 90d', 'k7Qm2XaB --retire-old 7d'],
    texts: {
      history: 'Approved: the e-mail with the secret was accepted',
      log: 'Approved key',
      title: 'Approve key',
      button: 'Approve',
      consequence:
        'The secret is created and e-mailed to the owner, once. The key works as soon as the mail server accepts that e-mail.',
      done: null,
    },
    mailsSecret: true,
    defaults: (deps, { requestedPermissions, successorOf }) => ({
      permissions: requestedPermissions,
      rateLimits: usualRateLimits(deps, successorOf),
      expiresAtMs: null,
      ...(successorOf !== null && { retireOldAtMs: null }),
    }),
    check: (deps, { identifier: key }) => {
      const address = checkOpenable(deps, key);
      refuseWithoutMail(deps.config);
      return [['The secret is mailed to', address]];
    },
    act: async (deps, by, { identifier: key, ...grant }): Promise<Outcome & Unfinished> => {
      const { mailedTo, finish } = await beginApproval(deps, { identifier: key, grant, by });
      return { identifier: key, mailIds: [], warning: null, mailedTo, finish };
    },
  }),

  /** Rejects a request. */
  reject: operation({
    name: 'reject',
    who: ADMINS_DECIDE,
    ...MOVES.reject,
    input: WITH_REASON,
    summary: 'Reject a pending request; the reason is mailed to the owner.',
    examples: ['k7Qm2XaB --reason "Please say which pages use it."'],
    texts: {
      history: 'Rejected',
      log: 'Rejected the request for key',
      title: 'Reject the request for key',
      button: 'Reject',
      consequence:
        'The owner gets the reason by e-mail. This can’t be undone, but the owner can request the key again.',
      done: 'The owner gets the reason by e-mail.',
    },
    isDangerous: true,
    act: (deps, by, input) => moveAndNotify(deps, 'reject', { ...input, by }),
  }),

  /** Changes the permissions, rate limits or expiry of a key that has a secret. */
  change: operation({
    name: 'change',
    who: ADMINS_DECIDE,
    from: SECRET_HOLDERS,
    event: 'changed',
    input: z.object({ identifier, ...KEY_CHANGE.shape }),
    summary: 'Change permissions, rate limits or expiry of a key.',
    help: `The secret and everything without a flag stay the same. A limit that keeps its
window keeps what was counted. On a terminal, without flags, it asks for each.`,
    examples: ['k7Qm2XaB', 'k7Qm2XaB --rate-limit 600/1m --rate-limit 50000/1d', 'k7Qm2XaB --expires never'],
    texts: {
      history: 'Changed',
      log: 'Changed key',
      title: 'Change key',
      button: 'Change',
      formButton: 'Change this key',
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
  }),

  /** Suspends an Active key until it is resumed. */
  suspend: operation({
    name: 'suspend',
    who: ADMINS_DECIDE,
    ...MOVES.suspend,
    input: WITH_REASON,
    summary: 'Suspend an Active key until it is resumed; the reason is mailed.',
    examples: ['k7Qm2XaB --reason "It looks up every profile in turn."'],
    texts: {
      history: 'Suspended',
      log: 'Suspended key',
      title: 'Suspend key',
      button: 'Suspend',
      consequence:
        'Every request that uses this key is refused until it is resumed. The secret, the limits and the requests already counted are kept. The owner gets the reason by e-mail.',
      done: 'Key suspended. Its owner gets the reason by e-mail.',
    },
    isDangerous: true,
    act: (deps, by, input) => moveAndNotify(deps, 'suspend', { ...input, by }),
  }),

  /** Resumes a suspended key. */
  resume: operation({
    name: 'resume',
    who: ADMINS_DECIDE,
    ...MOVES.resume,
    input: z.object({ identifier }),
    summary: 'Resume a suspended key: the same secret works again.',
    examples: ['k7Qm2XaB'],
    texts: {
      history: 'Resumed: the same secret works again',
      log: 'Resumed key',
      title: 'Resume key',
      button: 'Resume',
      consequence:
        'The same secret works again at once, with the same limits, unless the profile is banned. The owner gets an e-mail.',
      done: 'Key resumed. Its owner gets an e-mail.',
    },
    check: (_deps, { refusedFor }) =>
      refusedFor === null ? [] : [['Ban', 'The profile is banned: the key is refused until the ban is lifted.']],
    act: (deps, by, input) => moveAndNotify(deps, 'resume', { ...input, by }),
  }),

  /** Revokes a key that has a secret. Owners may revoke their own without a reason. */
  revoke: operation({
    name: 'revoke',
    ...MOVES.revoke,
    who: { ...ADMINS_DECIDE, owner: 'own' },
    input: z.object({ identifier, reason: OPTIONAL_REASON }),
    inputOf: { operator: WITH_REASON, admin: WITH_REASON },
    summary: `Revoke an ${WITH_SECRET} key; the reason is mailed.`,
    examples: ['k7Qm2XaB --reason "The secret was public."'],
    ownerPage: {
      path: 'revoke',
      consequence:
        'This can’t be undone. Still need it? If you can request another key, replace this one first, and revoke it once your program has the new secret.',
    },
    texts: {
      history: 'Revoked',
      log: 'Revoked key',
      title: 'Revoke key',
      button: 'Revoke',
      consequence:
        'Every request that uses this key is refused from now on. This can’t be undone. The owner gets the reason by e-mail.',
      done: 'Key revoked. It no longer works.',
    },
    isDangerous: true,
    act: (deps, by, input) => moveAndNotify(deps, 'revoke', { ...input, by }),
  }),
};
