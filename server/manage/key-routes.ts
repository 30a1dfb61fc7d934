import { ALL_OPERATIONS } from '../../shared/operations.ts';
import { answerWith, KEYS_PATH } from './operations/keys.ts';
import type { ManageRoute } from './request-context.ts';

/** What people do with keys under `/manage/v1`. Which of them may do what, `shared/operations.ts` says. */
export const KEY_ROUTES: readonly ManageRoute[] = ALL_OPERATIONS.flatMap((operation): ManageRoute[] => {
  const { json } = operation.doors;
  if (json === null) return [];
  return [
    {
      method: json.method,
      path: `${KEYS_PATH}${json.path}`,
      who: 'person',
      members: json.body ?? null,
      query: Object.keys(json.query ?? {}),
      act: answerWith(operation, json),
    },
  ];
});
