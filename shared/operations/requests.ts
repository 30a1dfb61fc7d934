import { z } from 'zod';
import { beginApproval, refuseWithoutMail } from '../approval/approve.ts';
import { checkOpenable } from '../approval/attempt.ts';
import { refuseTimeWithin } from '../keys/expiry.ts';
import { GRANT } from '../keys/fields/input-groups.ts';
import { FIELDS } from '../keys/fields/inputs.ts';
import { MOVES } from '../keys/key.ts';
import { KEY_FACTS } from '../keys/key-version.ts';
import { isRetired, lackedOf } from '../keys/life/differing.ts';
import { refuseGrant } from '../keys/life/granted.ts';
import { rejectKey } from '../keys/life/lifecycle.ts';
import type { Outcome } from '../keys/life/move.ts';
import { usualRateLimits } from '../keys/life/successor.ts';
import { decision, WITH_REASON } from './decision.ts';
import { operation, type Unfinished } from './entry.ts';
import { ADMINS_DECIDE } from './who.ts';

// Decisions of admins on requests.

const { identifier } = FIELDS;

/** Approves a request; its result has to be finished, which mails the secret. */
export const approve = operation({
  ...{ name: 'approve', who: ADMINS_DECIDE, ...MOVES.approve, version: KEY_FACTS },
  input: z.object({ identifier, ...GRANT.shape }),
  summary: 'Approve a pending request: its secret is created and mailed to the owner, once.',
  doors: {
    command: {
      verb: 'approve',
      help: `If no mail can be sent, the command says so before the first question. Without an identifier it goes through the pending
requests, oldest first: approve, reject with a reason, skip, or stop.
Without a terminal, or with --yes, the identifier is required, and omitted flags have defaults: the requested permissions;
DEFAULT_RATE_LIMITS, or the old key's for a successor; no expiry; the old key ends when it would have.`,
      examples: [
        '',
        'k7Qm2XaB',
        'k7Qm2XaB --yes --permission api.lookup --rate-limit 60/1m 5000/1d --expires 90d',
        'k7Qm2XaB --yes --retire-old 7d     # a successor: the key before it ends in a week',
      ],
    },
    page: 'decision',
    json: decision('approve', 'approve a request'),
  },
  texts: {
    ...{ title: 'Approve key', button: 'Approve' },
    consequence:
      'The secret is made and e-mailed to the owner, once. The key works as soon as that e-mail is accepted.',
    done: null,
    interrupted: ({ identifier: key, state }) =>
      state === 'Active' ? `Interrupted; key ${key} is Active, and the e-mail with its secret is out.` : null,
  },
  continuation: {
    ...{ begins: 'approval started', done: 'mailed' },
    refused: 'was approved, but did not become Active; its page says why.',
    failed: 'could not be approved to the end.',
  },
  usual: (deps, { requestedPermissions, successorOf }) => ({
    permissions: requestedPermissions,
    rateLimits: usualRateLimits(deps, successorOf),
    expiresAtMs: null,
    ...(successorOf !== null && { retireOldAtMs: null }),
  }),
  refuse: refuseGrant,
  lacks: (shown, { retireOldAtMs, ...grant }) => [
    ...lackedOf(shown.key, grant),
    ...(isRetired(shown, FIELDS.retireOldAtMs.nullish().parse(retireOldAtMs)) ? [] : ['retireOldAtMs']),
  ],
  alsoConfirmed: (deps, key) => [['The secret is mailed to', checkOpenable(deps, key.identifier)]],
  check: (deps, { identifier: key, expiresAtMs = null }) => {
    checkOpenable(deps, key);
    refuseTimeWithin(expiresAtMs, deps.approvalLeaseMs, deps.clock.nowMs());
    refuseWithoutMail(deps.config);
  },
  act: async (deps, by, { identifier: key, ...grant }): Promise<Outcome & Unfinished> => {
    const { mailedTo, finish } = await beginApproval(deps, { identifier: key, grant, by });
    return { identifier: key, noticeIds: [], warning: null, mailedTo, finish };
  },
});

/** Rejects a request. */
export const reject = operation({
  ...{ name: 'reject', who: ADMINS_DECIDE, ...MOVES.reject, version: KEY_FACTS },
  input: WITH_REASON,
  summary: 'Reject a pending request; the owner is mailed the reason.',
  doors: {
    command: {
      verb: 'reject',
      examples: ['k7Qm2XaB --reason "Please say which pages will show the data."'],
    },
    page: 'decision',
    json: decision('reject', 'reject a request'),
  },
  texts: {
    ...{ title: 'Reject the request of key', button: 'Reject' },
    consequence: 'The owner gets the reason by e-mail. This can’t be undone; the owner can ask again.',
    done: 'The owner gets the reason by e-mail.',
  },
  isDangerous: true,
  act: (deps, by, input) => rejectKey(deps, { ...input, by }),
});
