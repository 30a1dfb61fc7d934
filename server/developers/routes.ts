import { home } from './pages/home.ts';
import { endAll, endOne, sessions } from './pages/sessions.ts';
import { askForCode, signInPage } from './pages/sign-in.ts';
import { codePage, signIn } from './pages/sign-in-code.ts';
import { signOut } from './pages/sign-out.ts';
import type { PageRoute } from './visit.ts';

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
];
