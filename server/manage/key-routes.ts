import { queryInputs } from '../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../shared/operations.ts';
import { answerWith, KEYS_PATH, refuseCaller } from './operations/keys.ts';
import type { ManageRoute } from './request-context.ts';

/** The routes of keys under `/manage/v1`, for people. `shared/operations.ts` defines who may do what. */
export const KEY_ROUTES: readonly ManageRoute[] = ALL_OPERATIONS.flatMap((operation): ManageRoute[] => {
  const { json } = operation.doors;
  if (json === null) return [];
  return [
    {
      method: json.method,
      path: `${KEYS_PATH}${json.path}`,
      who: 'person',
      refuse: refuseCaller(operation),
      members: json.body ?? null,
      query: queryInputs(operation.input, json).map(([parameter]) => parameter),
      act: answerWith(operation, json),
    },
  ];
});
