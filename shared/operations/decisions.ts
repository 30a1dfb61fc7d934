import { z } from 'zod';
import { beginApproval, requireMailer } from '../keys/approve.ts';
import { checkOpenable } from '../keys/attempt.ts';
import { changeKey } from '../keys/change.ts';
import { refuseTimeWithin } from '../keys/expiry.ts';
import { refuseGrant } from '../keys/granted.ts';
import { GRANT, KEY_CHANGE } from '../keys/input-groups.ts';
import { FIELDS, OPTIONAL_REASON } from '../keys/inputs.ts';
import { MOVES, SECRET_HOLDERS } from '../keys/key.ts';
import { type Outcome, rejectKey, revokeKey } from '../keys/lifecycle.ts';
import { KEY_FACTS } from '../keys/shown.ts';
import { usualRateLimits } from '../keys/successor.ts';
import { sendOnce } from '../notices/deliver.ts';
import { ADMINS_DECIDE, operation, type Texts, type Unfinished } from './entry.ts';

// What admins decide. Nobody decides by a token: there the address of the key's page is the answer.

const { identifier, reason } = FIELDS;
const WITH_REASON = z.object({ identifier, reason });

/** What an owner can't change of a key that has a secret, so that nobody keeps admins from deciding on it. */
const GRANTED_FACTS = ['key', 'state', 'grant', 'profile', 'request'] as const;

const asEver: Texts['interrupted'] = () => null;

function decision(verb: string, what: string) {
  return {
    method: 'POST',
    path: `/:identifier/${verb}`,
    operationId: `${verb}Key`,
    description: `For admins, whose token only reads. Whatever the body is, nothing is done, and the answer is 403 \`decision_needed\` with the \`address\` of the page on which an admin can ${what} by a passkey. Look at the key to see what was decided.`,
    answers: 'key',
  } as const;
}

/** Approves a request; what it returns has to be finished, which mails the secret. */
export const approve = operation({
  ...{ name: 'approve', who: ADMINS_DECIDE, ...MOVES.approve, version: KEY_FACTS },
  input: z.object({ identifier, ...GRANT.shape }),
  summary: 'Approve a pending request: the secret is made and mailed to the owner, once.',
  doors: {
    command: {
      verb: 'approve',
      help: `Where mail can't be sent, that is said before the first question. Without an identifier every pending request is
shown in turn, the oldest first: approve, reject with a reason, skip, or stop there.
Off a terminal, or with --yes, an identifier is needed, and what is absent takes its default: the permissions that were
requested; DEFAULT_RATE_LIMITS, for a successor those of the old key; no expiry; the old key ends as before.`,
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
    ...{ title: 'Approve key', button: 'Approve', what: 'approve a request' },
    consequence: 'The secret is made and mailed to the owner, once. The key works as soon as that mail was accepted.',
    done: null,
    interrupted: ({ identifier: key, state }) =>
      state === 'Active' ? `Interrupted; key ${key} is Active, and the mail with its secret is out.` : null,
  },
  ...{ isMailed: true, isMain: true },
  goesOn: {
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
  alsoConfirmed: (deps, key) => [['The secret is mailed to', checkOpenable(deps, key.identifier)]],
  check: async (deps, { identifier: key, expiresAtMs = null }) => {
    checkOpenable(deps, key);
    refuseTimeWithin(expiresAtMs, deps.approvalLeaseMs, deps.clock.nowMs());
    await requireMailer(deps);
  },
  act: async (deps, by, { identifier: key, ...grant }): Promise<Outcome & Unfinished> => {
    const { mailedTo, finish } = await beginApproval(deps, { identifier: key, grant, by });
    return { identifier: key, warning: null, mailedTo, finish };
  },
});

/** Changes the permissions, rate limits or expiry of a key that has a secret. */
export const change = operation({
  ...{ name: 'change', who: ADMINS_DECIDE, from: SECRET_HOLDERS, event: 'changed', version: GRANTED_FACTS },
  input: z.object({ identifier, ...KEY_CHANGE.shape }),
  summary:
    'Change permissions, rate limits or expiry of an Active or suspended key; the owner is mailed from what to what.',
  doors: {
    command: {
      verb: 'change',
      help: `What is not given stays as it is, the secret always; where anything is given, nothing is asked. A running server goes
by the change within 10 ms. A rate limit on a window that the key had before keeps what was spent in it, whatever its
quota was; a new window begins unused.`,
      examples: [
        'k7Qm2XaB',
        'k7Qm2XaB --rate-limit 600/1m 50000/1d',
        'k7Qm2XaB --permission api.lookup api.leaderboard',
        'k7Qm2XaB --expires 2027-01-31',
        'k7Qm2XaB --expires never',
      ],
    },
    page: 'decision',
    json: decision('change', 'change what an Active or suspended key may do'),
  },
  texts: {
    ...{ title: 'Change key', button: 'Change', what: 'change what an Active or suspended key may do' },
    consequence: 'It holds at once, the secret stays, and the owner gets a mail that says what was changed.',
    done: 'The key is changed, and its owner gets a mail that says how.',
    interrupted: ({ identifier: key, state }) =>
      `Interrupted; key ${key} is ${state}. "profilectl keys show ${key}" tells whether it was changed.`,
  },
  ...{ isMailed: true, keepsRest: true },
  usual: (_deps, { permissions, rateLimits, expiresAt }) => ({
    permissions,
    rateLimits,
    expiresAtMs: expiresAt === null ? null : Date.parse(expiresAt),
  }),
  act: (deps, by, { identifier: key, ...wanted }) =>
    sendOnce(deps, changeKey(deps, { identifier: key, change: wanted, by })),
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
    ...{ title: 'Reject the request of key', button: 'Reject', what: 'reject a request' },
    consequence: 'The owner gets the reason by mail. This can’t be undone; the owner can ask again.',
    done: 'The request is rejected, and its owner gets the reason by mail.',
    interrupted: asEver,
  },
  ...{ isDangerous: true, isMailed: true },
  act: (deps, by, input) => sendOnce(deps, rejectKey(deps, { ...input, by })),
});

/** Revokes a key; an owner may do that with their own, and need not say why. */
export const revoke = operation({
  ...{ name: 'revoke', ...MOVES.revoke, version: GRANTED_FACTS },
  who: { ...ADMINS_DECIDE, owner: 'own' },
  input: z.object({ identifier, reason: OPTIONAL_REASON }),
  inputOf: { operator: WITH_REASON, admin: WITH_REASON },
  summary: 'Revoke an Active or suspended key at once; the owner is mailed the reason.',
  doors: {
    command: {
      verb: 'revoke',
      examples: ['k7Qm2XaB --reason "The secret was found in a public repository."'],
    },
    page: 'decision',
    ownerPage: {
      path: 'revoke',
      consequence:
        'Every request with its secret is refused from then on. This can’t be undone. If a program still needs access, request a successor first, and revoke this key once the program has the new secret.',
    },
    json: {
      ...{ method: 'POST', path: '/:identifier/revoke', operationId: 'revokeKey', body: ['reason'], answers: 'key' },
      description:
        'For its owner, with a reason or without: every request with its secret is refused from then on. An admin gets 403 `decision_needed` with the `address` of the page on which admins revoke it by a passkey.',
    },
  },
  texts: {
    ...{ title: 'Revoke key', button: 'Revoke', what: 'revoke a key' },
    consequence:
      'Every request with its secret is refused from then on. This can’t be undone. The owner gets the reason by mail.',
    done: 'The key is revoked. It works no more.',
    interrupted: asEver,
  },
  ...{ isDangerous: true, isMailed: true },
  act: (deps, by, input) => sendOnce(deps, revokeKey(deps, { ...input, by })),
});
