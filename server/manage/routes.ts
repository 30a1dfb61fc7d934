import { AppError } from '../../shared/errors.ts';
import { me } from './operations/me.ts';
import { HAND_OVER, signIns } from './operations/sign-ins.ts';
import { FEED_PATH, type ManageRoute } from './request-context.ts';

/** The routes under `/manage/v1`. Tests try every refusal on every entry. */
export const MANAGE_ROUTES: readonly ManageRoute[] = [
  { method: 'GET', path: '/manage/v1/me', right: null, members: null, act: me },
  {
    method: 'POST',
    path: FEED_PATH,
    right: 'profiles',
    members: null,
    // The serving application answers this path, and forwards only requests whose token may not send profiles. A token that
    // may has just been created.
    act: () => {
      throw new AppError('busy');
    },
  },
  {
    method: 'POST',
    path: '/manage/v1/sign-ins',
    right: 'sign-ins',
    members: HAND_OVER.options.flatMap(({ shape }) => Object.keys(shape)),
    act: signIns,
  },
];
