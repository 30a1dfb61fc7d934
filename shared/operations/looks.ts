import { z } from 'zod';
import { listQueue } from '../approval/queue.ts';
import { FIELDS, LIST_FILTER } from '../keys/fields.ts';
import { countOlder, countPending, listForPerson, neighbours } from '../keys/list.ts';
import { keyHistory, showKey } from '../keys/view.ts';
import { keyUsage, USUAL_DAYS } from '../usage/usage.ts';
import { ALL_LOOK, operation, type Who } from './entry.ts';

// Operations that change nothing.

const ONE_KEY = z.object({ identifier: FIELDS.identifier });

// Looking at the pending requests of all profiles.
const ADMINS_LOOK: Who = { ...ALL_LOOK, owner: 'none' };

/** Lists keys. */
export const list = operation({
  ...{ name: 'list', who: ALL_LOOK, input: LIST_FILTER },
  summary: 'List keys: pending requests first, oldest first, with their age.',
  doors: {
    command: {
      examples: ['--state pending', '--profile Ada --json'],
      help: 'On a terminal it shows 50 keys, and prints the command for the next page.',
    },
  },
  act: listForPerson,
});

/** Lists one page of the pending requests, with the facts that admins need for a decision. */
export const queue = operation({
  ...{ name: 'queue', who: ADMINS_LOOK, summary: 'List the requests that are waiting, oldest first.' },
  input: z.object({ limit: FIELDS.limit, after: FIELDS.after.nullish() }),
  act: listQueue,
});

/** Finds the position of a request in the queue, counted from 1, the length of the queue, and the requests beside it. */
export const queuePlace = operation({
  ...{ name: 'queuePlace', who: ADMINS_LOOK, input: ONE_KEY, summary: 'Find the position of a request in the queue.' },
  act: (deps, _by, { identifier }) => ({
    ...{ position: countOlder(deps, identifier) + 1, waiting: countPending(deps) },
    ...neighbours(deps, identifier),
  }),
});

/** Shows a key with its history. */
export const show = operation({
  ...{ name: 'show', who: ALL_LOOK, input: ONE_KEY, summary: 'Show a key and its history.' },
  doors: {
    command: { examples: ['k7Qm2XaB'] },
  },
  act: (deps, { kind }, { identifier }) => ({
    key: showKey(deps, identifier, kind),
    history: keyHistory(deps, identifier, kind),
  }),
});

/** Counts the requests of a key, by day and outcome. */
export const usage = operation({
  ...{ name: 'usage', who: ALL_LOOK },
  input: z.object({ identifier: FIELDS.identifier, days: FIELDS.days.default(USUAL_DAYS) }),
  summary: 'Show how many requests a key made each day, by outcome.',
  doors: {
    command: {
      examples: ['k7Qm2XaB', 'k7Qm2XaB --days 7 --json'],
      help: 'Every request with the key counts, also a refused one.',
    },
  },
  act: (deps, _by, { identifier, days }) => keyUsage(deps, identifier, days),
});
