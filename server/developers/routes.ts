import { foundPage, giveBack } from './pages/found.ts';
import { home } from './pages/home.ts';
import { keyPage } from './pages/key.ts';
import { keys } from './pages/keys.ts';
import { newKeyPage, REQUEST_FIELDS, sendRequest } from './pages/new-key.ts';
import { rename, renamePage } from './pages/rename-key.ts';
import { revoke, revokePage } from './pages/revoke-key.ts';
import { endAll, endOne, sessions } from './pages/sessions.ts';
import { askForCode, signInPage } from './pages/sign-in.ts';
import { codePage, signIn } from './pages/sign-in-code.ts';
import { signOut } from './pages/sign-out.ts';
import { withdraw, withdrawPage } from './pages/withdraw-key.ts';
import type { PageRoute } from './visit.ts';

/** What owners do with their keys. */
const OWNERS_PAGES: readonly PageRoute[] = [
  { method: 'GET', path: '/developers/keys', who: 'owner', act: keys },
  { method: 'GET', path: '/developers/keys/new', who: 'owner', query: ['successor-of'], act: newKeyPage },
  { method: 'POST', path: '/developers/keys/new', who: 'owner', fields: REQUEST_FIELDS, act: sendRequest },
  { method: 'GET', path: '/developers/keys/:identifier', who: 'owner', act: keyPage },
  { method: 'GET', path: '/developers/keys/:identifier/rename', who: 'owner', act: renamePage },
  { method: 'POST', path: '/developers/keys/:identifier/rename', who: 'owner', fields: { name: 'one' }, act: rename },
  { method: 'GET', path: '/developers/keys/:identifier/withdraw', who: 'owner', act: withdrawPage },
  { method: 'POST', path: '/developers/keys/:identifier/withdraw', who: 'owner', act: withdraw },
  { method: 'GET', path: '/developers/keys/:identifier/revoke', who: 'owner', act: revokePage },
  { method: 'POST', path: '/developers/keys/:identifier/revoke', who: 'owner', fields: { reason: 'one' }, act: revoke },
];

/** All pages and forms under `/developers`. Tests try every refusal on every entry. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  { method: 'GET', path: '/developers', who: 'anyone', act: home },
  { method: 'GET', path: '/developers/sign-in', who: 'anyone', query: ['next'], act: signInPage },
  {
    method: 'POST',
    path: '/developers/sign-in',
    who: 'anyone',
    fields: { name: 'one', address: 'one', next: 'one' },
    act: askForCode,
  },
  { method: 'GET', path: '/developers/sign-in/code', who: 'anyone', query: ['next'], act: codePage },
  {
    method: 'POST',
    path: '/developers/sign-in/code',
    who: 'anyone',
    fields: { code: 'secret', next: 'one' },
    act: signIn,
  },
  { method: 'POST', path: '/developers/sign-out', who: 'anyone', act: signOut },
  { method: 'GET', path: '/developers/sessions', who: 'signed in', act: sessions },
  { method: 'POST', path: '/developers/sessions/end-all', who: 'signed in', act: endAll },
  { method: 'POST', path: '/developers/sessions/:id/end', who: 'signed in', act: endOne },
  { method: 'GET', path: '/developers/found', who: 'anyone', act: foundPage },
  { method: 'POST', path: '/developers/found', who: 'anyone', fields: { secret: 'secret' }, act: giveBack },
  ...OWNERS_PAGES,
];
