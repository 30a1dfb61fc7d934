import { Elysia } from 'elysia';
import { OWNERS_ACTIONS } from '../../shared/operations.ts';
import { refuseRest } from '../http/other-requests.ts';
import type { Service } from '../service.ts';
import { decide, decideSeveral } from './admin/decide.ts';
import { enrol, enrolPage } from './admin/enrol.ts';
import { adminKeyPage } from './admin/key.ts';
import { adminKeys } from './admin/keys.ts';
import { log } from './admin/log.ts';
import { overview } from './admin/overview.ts';
import { addOwnPasskey, people, removeOwnPasskey } from './admin/people.ts';
import { queue } from './admin/queue.ts';
import { adminSignIn, adminSignInPage } from './admin/sign-in.ts';
import { anyone, arrivals, show, signedIn, type Visitors } from './guards.ts';
import { home } from './owner/home.ts';
import { keyPage } from './owner/key.ts';
import { keys } from './owner/keys.ts';
import { newKeyPage, sendRequest } from './owner/new-key.ts';
import { actionPage, doAction } from './owner/owner-action.ts';
import { foundPage, reportLeaked } from './owner/report-leaked.ts';
import { SIGN_OUT_PATH } from './requests/refusals.ts';
import { enter, enterPage } from './sign-in/enter.ts';
import { endAll, endOne, sessions, signOut } from './sign-in/sessions.ts';
import { askForCode, codePage, signIn, signInPage } from './sign-in/sign-in.ts';

/** All pages and forms under `/developers`. Tests try every refusal on every route. */
export function pages(service: Service) {
  const arrived = arrivals(service);
  const visitors = anyone(arrived);
  const areas = [openPages(visitors), signedInPages(visitors), ownersPages(visitors), adminsPages(visitors)];
  // Unknown paths pass the checks too, so that a form from another site is refused as such.
  const refuse = refuseRest(areas.flatMap(({ routes }) => routes));
  const others = new Elysia({ name: 'other-pages' }).use(arrived);
  return [...areas, others.all('/developers', refuse).all('/developers/*', refuse)];
}

function openPages(visitors: Visitors) {
  return new Elysia({ name: 'open-pages' })
    .use(visitors)
    .get('/developers', show(home))
    .get('/developers/sign-in', show(signInPage))
    .post('/developers/sign-in', show(askForCode))
    .get('/developers/sign-in/code', show(codePage))
    .post('/developers/sign-in/code', show(signIn))
    .get('/developers/enter', show(enterPage))
    .post('/developers/enter', show(enter))
    .post(SIGN_OUT_PATH, show(signOut))
    .get('/developers/found', show(foundPage))
    .post('/developers/found', show(reportLeaked))
    .get('/developers/enrol', show(enrolPage))
    .post('/developers/enrol', show(enrol))
    .get('/developers/admin/sign-in', show(adminSignInPage))
    .post('/developers/admin/sign-in', show(adminSignIn));
}

function signedInPages(visitors: Visitors) {
  return new Elysia({ name: 'pages-of-both' })
    .use(signedIn(visitors, 'both'))
    .get('/developers/sessions', show(sessions))
    .post('/developers/sessions/end-all', show(endAll))
    .post('/developers/sessions/:id/end', show(endOne));
}

function ownersPages(visitors: Visitors) {
  const app = new Elysia({ name: 'pages-of-owners' })
    .use(signedIn(visitors, 'owner'))
    .get('/developers/keys', show(keys))
    .get('/developers/keys/new', show(newKeyPage))
    .post('/developers/keys/new', show(sendRequest))
    .get('/developers/keys/:identifier', show(keyPage));
  for (const [operation, door] of OWNERS_ACTIONS) {
    const path = `/developers/keys/:identifier/${door.path}`;
    app.get(
      path,
      show((page) => actionPage(page, operation, door)),
    );
    app.post(
      path,
      show((page) => doAction(page, operation, door)),
    );
  }
  return app;
}

function adminsPages(visitors: Visitors) {
  return new Elysia({ name: 'pages-of-admins' })
    .use(signedIn(visitors, 'admin'))
    .get('/developers/admin', show(queue))
    .post('/developers/admin/decide', show(decideSeveral))
    .get('/developers/admin/keys', show(adminKeys))
    .get('/developers/admin/keys/:identifier', show(adminKeyPage))
    .post('/developers/admin/keys/:identifier/decide', show(decide))
    .get('/developers/admin/people', show(people))
    .post('/developers/admin/people/passkeys', show(addOwnPasskey))
    .post('/developers/admin/people/passkeys/:id/remove', show(removeOwnPasskey))
    .get('/developers/admin/log', show(log))
    .get('/developers/admin/overview', show(overview));
}
