import { z } from 'zod';
import { FIELDS, KEY_REQUEST } from '../keys/fields.ts';
import { MOVES } from '../keys/key.ts';
import { editKey, moveAndNotify, requestKey } from '../keys/life.ts';
import { OWNERS_DO, operation } from './entry.ts';

const { identifier, profile, name } = FIELDS;

/** Actions of owners on their own keys. */
export const OWNERS_OPERATIONS = {
  /** Requests a key. */
  request: operation({
    name: 'request',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    event: 'requested',
    input: z.object({
      profile,
      profileId: FIELDS.profileId.nullish(),
      ...KEY_REQUEST.shape,
      successorOf: FIELDS.successorOf,
    }),
    summary: 'Request an API key for a profile; an admin decides.',
    help: `On a terminal it asks for what is missing (for the description in EDITOR), and
shows the request before sending it. A successor takes what is not given from
the key that it replaces.`,
    examples: ['', '--profile Ada --name Bot --description-file about.txt'],
    texts: {
      history: 'Requested',
      log: 'Requested key',
      title: 'Request a key',
      button: 'Send the request',
      consequence: 'An admin reads this and decides. You get an e-mail either way.',
      done: 'Request sent.',
    },
    act: (deps, by, input) => requestKey(deps, { ...input, by }),
  }),

  /** Renames a key, whatever its state. */
  edit: operation({
    name: 'edit',
    who: { ...OWNERS_DO, owner: 'own, unless banned' },
    event: 'edited',
    input: z.object({ identifier, name }),
    summary: 'Rename a key.',
    examples: ['k7Qm2XaB --name "Badge bot 2"'],
    ownerPage: { path: 'rename' },
    texts: {
      history: 'Renamed',
      log: 'Renamed key',
      title: 'Rename key',
      button: 'Rename',
      consequence: 'Only the name changes; the secret keeps working.',
      done: 'Key renamed.',
    },
    defaults: (_deps, key) => ({ name: key.name }),
    act: (deps, by, input) => editKey(deps, { ...input, by }),
  }),

  /** Withdraws a pending request. */
  withdraw: operation({
    name: 'withdraw',
    who: OWNERS_DO,
    ...MOVES.withdraw,
    input: z.object({ identifier }),
    summary: 'Withdraw a pending request.',
    examples: ['k7Qm2XaB'],
    ownerPage: { path: 'withdraw' },
    texts: {
      history: 'Withdrawn',
      log: 'Withdrew the request for key',
      title: 'Withdraw the request for key',
      button: 'Withdraw the request',
      consequence:
        'Admins won’t decide on it, and it no longer counts towards the limit. This can’t be undone, but you can request the key again.',
      done: 'Request withdrawn.',
    },
    isDangerous: true,
    act: (deps, by, input) => moveAndNotify(deps, 'withdraw', { ...input, by }),
  }),
};
