import { CHOICE_FIELDS, decide, decideSeveral } from './admin/decide.ts';
import { DECISION_FIELDS } from './admin/decision-forms.ts';
import { enrol, enrolPage } from './admin/enrol.ts';
import { adminKeyPage } from './admin/key.ts';
import { adminKeys } from './admin/keys.ts';
import { LOG_QUERY, log } from './admin/log.ts';
import { OUTCOME_QUERY } from './admin/outcomes.ts';
import { overview } from './admin/overview.ts';
import { addOwnPasskey, people, removeOwnPasskey } from './admin/people.ts';
import { queue } from './admin/queue.ts';
import { adminSignIn, adminSignInPage } from './admin/sign-in.ts';
import { home } from './owner/home.ts';
import { keyPage } from './owner/key.ts';
import { keys } from './owner/keys.ts';
import { newKeyPage, REQUEST_FIELDS, sendRequest } from './owner/new-key.ts';
import { OWNER_ACTION_PAGES } from './owner/owner-action.ts';
import { foundPage, reportLeaked } from './owner/report-leaked.ts';
import { PASSKEY_FIELD } from './passkeys/passkey-form.ts';
import type { FieldKinds } from './requests/form.ts';
import type { PageRoute } from './requests/request-context.ts';
import { enter, enterPage } from './sign-in/enter.ts';
import { endAll, endOne, sessions } from './sign-in/sessions.ts';
import { askForCode, signInPage } from './sign-in/sign-in.ts';
import { codePage, signIn } from './sign-in/sign-in-code.ts';
import { signOut } from './sign-in/sign-out.ts';

/** The path for signing out. Browsers forget their session there even if the server can't store that it has ended. */
export const SIGN_OUT_PATH = '/developers/sign-out';

type Act = PageRoute['act'];

function get(path: string, who: PageRoute['who'], act: Act, query: readonly string[] = []): PageRoute {
  return { method: 'GET', path, who, act, query };
}

function post(path: string, who: PageRoute['who'], act: Act, fields: FieldKinds = {}): PageRoute {
  return { method: 'POST', path, who, act, fields };
}

const OWNERS_PAGES: readonly PageRoute[] = [
  get('/developers/keys', 'owner', keys),
  get('/developers/keys/new', 'owner', newKeyPage, ['successor-of', 'like']),
  post('/developers/keys/new', 'owner', sendRequest, REQUEST_FIELDS),
  get('/developers/keys/:identifier', 'owner', keyPage),
  ...OWNER_ACTION_PAGES,
];

const ADMINS_PAGES: readonly PageRoute[] = [
  get('/developers/enrol', 'anyone', enrolPage),
  post('/developers/enrol', 'anyone', enrol, { secret: 'secret', name: 'one', ...PASSKEY_FIELD }),
  get('/developers/admin/sign-in', 'anyone', adminSignInPage, ['next']),
  {
    ...post('/developers/admin/sign-in', 'anyone', adminSignIn, { next: 'unseen', ...PASSKEY_FIELD }),
    limit: 'passkeys',
  },
  get('/developers/admin', 'admin', queue, ['after', 'choose', ...OUTCOME_QUERY]),
  get('/developers/admin/keys', 'admin', adminKeys, ['state', 'find', 'after']),
  get('/developers/admin/keys/:identifier', 'admin', adminKeyPage),
  post('/developers/admin/keys/:identifier/decide', 'admin', decide, DECISION_FIELDS),
  post('/developers/admin/decide', 'admin', decideSeveral, CHOICE_FIELDS),
  get('/developers/admin/people', 'admin', people),
  post('/developers/admin/people/passkeys', 'admin', addOwnPasskey, { name: 'one', ...PASSKEY_FIELD }),
  post('/developers/admin/people/passkeys/:id/remove', 'admin', removeOwnPasskey, { sure: 'unseen' }),
  get('/developers/admin/log', 'admin', log, LOG_QUERY),
  get('/developers/admin/overview', 'admin', overview),
];

/** All pages and forms under `/developers`. Tests try every refusal on every entry. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  get('/developers', 'anyone', home),
  get('/developers/sign-in', 'anyone', signInPage, ['next']),
  {
    ...post('/developers/sign-in', 'anyone', askForCode, { name: 'one', address: 'one', next: 'unseen' }),
    limit: 'sign-ins',
  },
  get('/developers/sign-in/code', 'anyone', codePage, ['next']),
  post('/developers/sign-in/code', 'anyone', signIn, { code: 'one', next: 'unseen' }),
  get('/developers/enter', 'anyone', enterPage, ['ticket']),
  post('/developers/enter', 'anyone', enter, { ticket: 'secret' }),
  post(SIGN_OUT_PATH, 'anyone', signOut),
  get('/developers/sessions', 'signed in', sessions),
  post('/developers/sessions/end-all', 'signed in', endAll),
  post('/developers/sessions/:id/end', 'signed in', endOne),
  get('/developers/found', 'anyone', foundPage),
  { ...post('/developers/found', 'anyone', reportLeaked, { secret: 'secret' }), limit: 'texts', writesMain: true },
  ...OWNERS_PAGES,
  ...ADMINS_PAGES,
];
