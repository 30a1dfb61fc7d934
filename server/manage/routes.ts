import { AppError } from '../../shared/errors.ts';
import { type LoginRoute, loginRoute } from './login.ts';
import { KEY_ROUTES } from './operations/keys.ts';
import { me } from './operations/me.ts';
import { REVOKE_FORM, revoke } from './operations/revoke.ts';
import { HAND_OVER, signIns } from './operations/sign-ins.ts';
import { TOKEN_FORM, token } from './operations/token.ts';
import { FEED_PATH, type ManageRoute } from './request-context.ts';

/** The routes under `/manage/v1` that need a token. Tests try every refusal on every entry. */
export const MANAGE_ROUTES: readonly ManageRoute[] = [
  { method: 'GET', path: '/manage/v1/me', who: 'any', members: null, act: me },
  {
    method: 'POST',
    path: FEED_PATH,
    who: { backend: 'profiles' },
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
    who: { backend: 'sign-ins' },
    members: HAND_OVER.options.flatMap(({ shape }) => Object.keys(shape)),
    act: signIns,
  },
  ...KEY_ROUTES,
];

/** The routes that create and revoke personal tokens, which need a form instead. */
export const LOGIN_ROUTES: readonly LoginRoute[] = [
  loginRoute('/manage/v1/token', TOKEN_FORM, token),
  loginRoute('/manage/v1/revoke', REVOKE_FORM, revoke),
];
