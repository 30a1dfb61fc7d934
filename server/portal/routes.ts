import { decide } from './admin/confirm-decision.ts';
import { CHOICE_FIELDS, decideSeveral } from './admin/decide-several.ts';
import { enrol, enrolPage, registeredPage } from './admin/enrol.ts';
import { adminKeyPage } from './admin/key.ts';
import { adminKeys } from './admin/keys.ts';
import { LOG_QUERY, log } from './admin/log.ts';
import { outcomes } from './admin/outcomes.ts';
import { overview } from './admin/overview.ts';
import { people } from './admin/people.ts';
import { queue } from './admin/queue.ts';
import { removeOwnPasskey } from './admin/remove-passkey.ts';
import { adminSignIn, adminSignInPage } from './admin/sign-in.ts';
import { home } from './owner/home.ts';
import { keyPage } from './owner/key.ts';
import { keys } from './owner/keys.ts';
import { newKeyPage, REQUEST_FIELDS, sendRequest } from './owner/new-key.ts';
import { OWNER_ACTION_PAGES } from './owner/owner-action.ts';
import { foundPage, reportLeaked } from './owner/report-leaked.ts';
import { DECISION_FIELDS } from './passkeys/decision-form.ts';
import { LINKED_FIELDS } from './passkeys/decision-link.ts';
import { PASSKEY_FIELD } from './passkeys/passkey-form.ts';
import type { FieldKinds } from './requests/form.ts';
import type { PageRoute } from './requests/request-context.ts';
import { answerCli, cliPage } from './sign-in/cli.ts';
import { CLI_PARAMETERS } from './sign-in/cli-request.ts';
import { enter, enterPage } from './sign-in/enter.ts';
import { endAll, endCliLogin, endOne, sessions } from './sign-in/sessions.ts';
import { askForCode, signInPage } from './sign-in/sign-in.ts';
import { codePage, signIn } from './sign-in/sign-in-code.ts';
import { signOut } from './sign-in/sign-out.ts';

/** The path for signing out. Browsers forget their session there even if its end can't be stored. */
export const SIGN_OUT_PATH = '/developers/sign-out';

/** The pages of owners. */
const OWNERS_PAGES: readonly PageRoute[] = [
  { method: 'GET', path: '/developers/keys', who: 'owner', act: keys },
  { method: 'GET', path: '/developers/keys/new', who: 'owner', query: ['successor-of', 'like'], act: newKeyPage },
  { method: 'POST', path: '/developers/keys/new', who: 'owner', fields: REQUEST_FIELDS, act: sendRequest },
  { method: 'GET', path: '/developers/keys/:identifier', who: 'owner', act: keyPage },
  ...OWNER_ACTION_PAGES,
];

/** The pages of admins, and those for becoming one and signing in. */
const ADMINS_PAGES: readonly PageRoute[] = [
  { method: 'GET', path: '/developers/enrol', who: 'anyone', act: enrolPage },
  {
    method: 'POST',
    path: '/developers/enrol',
    who: 'anyone',
    fields: { secret: 'secret', name: 'one', ...PASSKEY_FIELD },
    act: enrol,
  },
  { method: 'GET', path: '/developers/enrol/registered', who: 'anyone', act: registeredPage },
  { method: 'GET', path: '/developers/admin/sign-in', who: 'anyone', query: ['next'], act: adminSignInPage },
  {
    method: 'POST',
    path: '/developers/admin/sign-in',
    who: 'anyone',
    fields: { next: 'unseen', ...PASSKEY_FIELD },
    act: adminSignIn,
  },
  { method: 'GET', path: '/developers/admin', who: 'admin', query: ['after', 'choose', 'decided'], act: queue },
  { method: 'GET', path: '/developers/admin/keys', who: 'admin', query: ['state', 'find', 'after'], act: adminKeys },
  {
    method: 'GET',
    path: '/developers/admin/keys/:identifier',
    who: 'admin',
    query: ['decided', ...LINKED_FIELDS],
    act: adminKeyPage,
  },
  {
    method: 'POST',
    path: '/developers/admin/keys/:identifier/decide',
    who: 'admin',
    fields: DECISION_FIELDS,
    act: decide,
  },
  { method: 'POST', path: '/developers/admin/decide', who: 'admin', fields: CHOICE_FIELDS, act: decideSeveral },
  { method: 'GET', path: '/developers/admin/decided/:id', who: 'admin', act: outcomes },
  { method: 'GET', path: '/developers/admin/people', who: 'admin', act: people },
  {
    method: 'POST',
    path: '/developers/admin/people/passkeys/:id/remove',
    who: 'admin',
    fields: PASSKEY_FIELD,
    act: removeOwnPasskey,
  },
  { method: 'GET', path: '/developers/admin/log', who: 'admin', query: LOG_QUERY, act: log },
  { method: 'GET', path: '/developers/admin/overview', who: 'admin', act: overview },
];

/** The decision is `used up`: if the form is sent again, the page asks for it again. */
const CLI_FIELDS: FieldKinds = {
  ...Object.fromEntries(CLI_PARAMETERS.map((name) => [name, 'unseen'])),
  shown: 'unseen',
  decision: 'used up',
};

/** All pages and forms under `/developers`. Tests try every refusal on every entry. */
export const PAGE_ROUTES: readonly PageRoute[] = [
  { method: 'GET', path: '/developers', who: 'anyone', act: home },
  { method: 'GET', path: '/developers/sign-in', who: 'anyone', query: ['next'], act: signInPage },
  {
    method: 'POST',
    path: '/developers/sign-in',
    who: 'anyone',
    fields: { name: 'one', address: 'one', next: 'unseen' },
    act: askForCode,
  },
  { method: 'GET', path: '/developers/sign-in/code', who: 'anyone', query: ['next'], act: codePage },
  {
    method: 'POST',
    path: '/developers/sign-in/code',
    who: 'anyone',
    fields: { code: 'one', next: 'unseen' },
    act: signIn,
  },
  { method: 'GET', path: '/developers/enter', who: 'anyone', query: ['ticket'], act: enterPage },
  { method: 'POST', path: '/developers/enter', who: 'anyone', fields: { ticket: 'secret' }, act: enter },
  { method: 'POST', path: SIGN_OUT_PATH, who: 'anyone', act: signOut },
  { method: 'GET', path: '/developers/sessions', who: 'signed in', act: sessions },
  { method: 'POST', path: '/developers/sessions/end-all', who: 'signed in', act: endAll },
  { method: 'POST', path: '/developers/sessions/:id/end', who: 'signed in', act: endOne },
  { method: 'POST', path: '/developers/sessions/cli/:identifier/end', who: 'signed in', act: endCliLogin },
  { method: 'GET', path: '/developers/cli', who: 'signed in', query: CLI_PARAMETERS, act: cliPage },
  { method: 'POST', path: '/developers/cli', who: 'signed in', fields: CLI_FIELDS, act: answerCli },
  { method: 'GET', path: '/developers/found', who: 'anyone', act: foundPage },
  {
    method: 'POST',
    path: '/developers/found',
    who: 'anyone',
    fields: { secret: 'secret' },
    writesMain: true,
    act: reportLeaked,
  },
  ...OWNERS_PAGES,
  ...ADMINS_PAGES,
];
