import { z } from 'zod';
import { beginApproval, refuseWithoutMail } from '../approval/approve.ts';
import { checkOpenable } from '../approval/attempt.ts';
import { refuseTimeWithin } from '../keys/expiry.ts';
import { FIELDS, GRANT } from '../keys/inputs.ts';
import { MOVES } from '../keys/key.ts';
import { refuseGrant, usualRateLimits } from '../keys/life/grant.ts';
import { type Outcome, rejectKey } from '../keys/life/lifecycle.ts';
import { operation, type Unfinished, WITH_REASON } from './entry.ts';
import { ADMINS_DECIDE } from './who.ts';

// Decisions of admins on requests.

const { identifier } = FIELDS;

/** Starts the approval of a request; `finish` of its output mails the secret. */
export const approve = operation({
  ...{ name: 'approve', who: ADMINS_DECIDE, ...MOVES.approve },
  input: z.object({ identifier, ...GRANT.shape }),
  summary: 'Approve a pending request, and mail the secret to the owner, once.',
  doors: {
    command: {
      help: `On a terminal it offers the pending requests in a list if none is named, asks
for what is not given, and mails nothing before a yes. Otherwise, or with --yes:
requested permissions, DEFAULT_RATE_LIMITS or those of the old key, no expiry.`,
      examples: ['', 'k7Qm2XaB --rate-limit 60/1m --expires 90d', 'k7Qm2XaB --retire-old 7d'],
    },
  },
  texts: {
    ...{ history: 'Approved: the e-mail with the secret was accepted', log: 'Approved key' },
    ...{ title: 'Approve key', button: 'Approve' },
    consequence:
      'The secret is created and e-mailed to the owner, once. The key works as soon as the mail server accepts that e-mail.',
    done: null,
  },
  continuation: {
    done: 'mailed',
    refused: 'was approved, but did not become Active; its page says why.',
    failed: 'could not be approved.',
  },
  defaults: (deps, { requestedPermissions, successorOf }) => ({
    permissions: requestedPermissions,
    rateLimits: usualRateLimits(deps, successorOf),
    expiresAtMs: null,
    ...(successorOf !== null && { retireOldAtMs: null }),
  }),
  refuse: refuseGrant,
  alsoConfirmed: (deps, key) => [['The secret is mailed to', checkOpenable(deps, key.identifier)]],
  check: (deps, { identifier: key, expiresAtMs = null }) => {
    checkOpenable(deps, key);
    refuseTimeWithin(expiresAtMs, deps.approvalLeaseMs, deps.clock.nowMs());
    refuseWithoutMail(deps.config);
  },
  act: async (deps, by, { identifier: key, ...grant }): Promise<Outcome & Unfinished> => {
    const { mailedTo, finish } = await beginApproval(deps, { identifier: key, grant, by });
    return { identifier: key, mailIds: [], warning: null, mailedTo, finish };
  },
});

/** Rejects a request. */
export const reject = operation({
  ...{ name: 'reject', who: ADMINS_DECIDE, ...MOVES.reject },
  input: WITH_REASON,
  summary: 'Reject a pending request; the reason is mailed to the owner.',
  doors: {
    command: {
      examples: ['k7Qm2XaB --reason "Please say which pages use it."'],
    },
  },
  texts: {
    ...{ history: 'Rejected', log: 'Rejected the request for key' },
    ...{ title: 'Reject the request for key', button: 'Reject' },
    consequence: 'The owner gets the reason by e-mail. This can’t be undone, but the owner can request the key again.',
    done: 'The owner gets the reason by e-mail.',
  },
  isDangerous: true,
  act: (deps, by, input) => rejectKey(deps, { ...input, by }),
});
