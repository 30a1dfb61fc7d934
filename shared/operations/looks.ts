import { z } from 'zod';
import { FIELDS, LIST_FILTER } from '../keys/fields.ts';
import { listKeys } from '../keys/list.ts';
import { keyHistory, showKey } from '../keys/view.ts';
import { keyUsage, USUAL_DAYS } from '../usage/usage.ts';
import { ALL_LOOK, operation } from './entry.ts';

const ONE_KEY = z.object({ identifier: FIELDS.identifier });

/** Operations that change nothing. */
export const LOOKS = {
  /** Lists keys. */
  list: operation({
    name: 'list',
    who: ALL_LOOK,
    input: LIST_FILTER,
    summary: 'List keys: pending requests first, oldest first, with their age.',
    examples: ['--state pending', '--profile Ada --json'],
    help: 'On a terminal it shows 50 keys, and prints the command for the next page.',
    act: listKeys,
  }),

  /** Shows a key with its history. */
  show: operation({
    name: 'show',
    who: ALL_LOOK,
    input: ONE_KEY,
    summary: 'Show a key and its history.',
    examples: ['k7Qm2XaB'],
    act: (deps, { kind }, { identifier }) => ({
      key: showKey(deps, identifier, kind),
      history: keyHistory(deps, identifier, kind),
    }),
  }),

  /** Counts the requests of a key, by day and outcome. */
  usage: operation({
    name: 'usage',
    who: ALL_LOOK,
    input: z.object({ identifier: FIELDS.identifier, days: FIELDS.days.default(USUAL_DAYS) }),
    summary: 'Show how many requests a key made each day, by outcome.',
    examples: ['k7Qm2XaB', 'k7Qm2XaB --days 7 --json'],
    help: 'Every request with the key counts, even a refused one.',
    act: (deps, _by, { identifier, days }) => keyUsage(deps, identifier, days),
  }),
};
