import type { ManageRoute } from './call.ts';
import {
  decidedOnPage,
  KEY_PATH,
  KEYS_PATH,
  LIST_PARAMETERS,
  list,
  REQUEST_BODY,
  rename,
  request,
  revoke,
  show,
  usage,
  withdraw,
} from './operations/keys.ts';

/** What people do with keys under `/manage/v1`. Which of them may do what, `shared/operations.ts` says. */
export const KEY_ROUTES: readonly ManageRoute[] = [
  { method: 'GET', path: KEYS_PATH, who: 'person', members: null, query: LIST_PARAMETERS, act: list },
  { method: 'POST', path: KEYS_PATH, who: 'person', members: Object.keys(REQUEST_BODY.shape), act: request },
  { method: 'GET', path: KEY_PATH, who: 'person', members: null, act: show },
  { method: 'PATCH', path: KEY_PATH, who: 'person', members: ['name'], act: rename },
  { method: 'GET', path: `${KEY_PATH}/usage`, who: 'person', members: null, query: ['days'], act: usage },
  { method: 'POST', path: `${KEY_PATH}/withdraw`, who: 'person', members: null, act: withdraw },
  ...(['approve', 'reject', 'change'] as const).map(
    (operation): ManageRoute => ({
      method: 'POST',
      path: `${KEY_PATH}/${operation}`,
      who: 'person',
      members: null,
      act: decidedOnPage(operation),
    }),
  ),
  { method: 'POST', path: `${KEY_PATH}/revoke`, who: 'person', members: ['reason'], act: revoke },
];
