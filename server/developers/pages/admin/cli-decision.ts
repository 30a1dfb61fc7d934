import { beginDecision } from '../../../../shared/access/assertions.ts';
import {
  type AskedDecision,
  confirmAskedDecision,
  type DecisionState,
  readAskedDecision,
  refuseAskedDecision,
} from '../../../../shared/access/cli-decisions.ts';
import { AppError } from '../../../../shared/errors.ts';
import { OPERATIONS } from '../../../../shared/operations.ts';
import { type Html, html } from '../../../html.ts';
import { publicPath } from '../../../request/public-path.ts';
import { adminKeyPath } from '../../admin-path.ts';
import { refuseImpossible } from '../../deciding.ts';
import { errorSummary, type Faults, formTo, NO_FAULTS } from '../../html/fields.ts';
import { keyLink } from '../../html/key-facts.ts';
import { timeText } from '../../html/time.ts';
import { written } from '../../html/written.ts';
import type { KeyDecision } from '../../passkeys/decision-form.ts';
import { assertionIn, PASSKEY_SCRIPTS, passkeyForm } from '../../passkeys/passkey-form.ts';
import { performHere } from '../../perform.ts';
import { ruleSentence } from '../../rules.ts';
import { signedAdmin } from '../../signed-in.ts';
import type { Outcome, Page, Visit } from '../../visit.ts';
import { decisionInWords } from './decision-words.ts';

// Where an admin lets a decision through, or refuses it, for which his profilectl on another machine has asked.

/** An asked decision, which is always one on a key. */
type Asked = AskedDecision & { decision: KeyDecision };

/** `GET /developers/cli/decisions/:id`: which machine asks, exactly what is decided, and what has become of it. Throws `not_found`. */
export async function cliDecisionPage(visit: Visit): Promise<Page> {
  const asked = readAsked(visit);
  return asked.state === 'open' ? showOpen(visit, asked, NO_FAULTS) : showEnded(visit, asked);
}

/**
 * `POST /developers/cli/decisions/:id`: without a passkey's answer asks for it; with one for exactly this, lets the decision
 * through, which its `profilectl` then carries out. Throws `not_found`.
 */
export async function confirmCliDecision(visit: Visit): Promise<Outcome> {
  const asked = readAsked(visit);
  if (asked.state !== 'open') return { seeOther: pathOf(asked.id) };
  const assertion = assertionIn(visit.form);
  try {
    await refuseImpossible(visit.pages, asked.decision);
    if (assertion === null) return await ask(visit, asked);
    confirmAskedDecision(visit.access, signedAdmin(visit), asked.id, assertion);
    return { seeOther: pathOf(asked.id) };
  } catch (error) {
    const rule = ruleSentence(error);
    const code = error instanceof AppError ? error.code : null;
    if (rule === null && code !== 'forbidden' && code !== 'changed_since') throw error;
    const refusal = code === 'forbidden' || code === 'changed_since' ? code : 'refused_form';
    return { ...(await showOpen(visit, asked, new Map([['', (error as AppError).message]]))), refusal };
  }
}

/** `POST /developers/cli/decisions/:id/refuse`: refuses it, and whoever asked is told. Throws `not_found`. */
export function refuseCliDecision(visit: Visit): Outcome {
  const { id, state } = readAsked(visit);
  if (state === 'open') refuseAskedDecision(visit.access, signedAdmin(visit), id);
  return { seeOther: pathOf(id) };
}

function readAsked(visit: Visit): Asked {
  return readAskedDecision(visit.access, signedAdmin(visit), visit.params.id as string) as Asked;
}

async function showOpen(visit: Visit, asked: Asked, faults: Faults): Promise<Page> {
  const words = await wordsOf(visit, asked);
  const { title, button } = words;
  const path = publicPath(visit.access.config, pathOf(asked.id));
  return {
    title,
    body: html`${errorSummary(faults)}<h1>${title}</h1>
${whoAsks(visit, asked)}
${words.facts}
${formTo(path, button)}
<form method="post" action="${path}/refuse"><p><button class="second">Refuse</button></p></form>`,
  };
}

/** The page that has the browser ask for the passkey, with a challenge for exactly this. */
async function ask(visit: Visit, asked: Asked): Promise<Page> {
  const { access } = visit;
  const { title, facts, button } = await wordsOf(visit, asked);
  const path = publicPath(access.config, pathOf(asked.id));
  return {
    title,
    scripts: PASSKEY_SCRIPTS,
    body: html`<h1>${title}</h1>
${whoAsks(visit, asked)}
${facts}
<p>Your browser asks for your passkey now.</p>
${passkeyForm({
  action: path,
  button,
  parts: [],
  isAtOnce: true,
  passkey: 'get',
  options: beginDecision(access, signedAdmin(visit), asked.decision),
})}
<p><a href="${path}">Back, without deciding</a></p>`,
  };
}

function showEnded(visit: Visit, { state, decision: { identifier } }: Asked): Page {
  const title = `Decision on key ${identifier}`;
  return {
    title,
    body: html`<h1>${title}</h1>
<p role="status">${ENDED[state]}</p>
<p>${keyLink(identifier, adminKeyPath(visit))}</p>`,
  };
}

/** What is told of a decision in each state; while it is open there are forms instead. */
const ENDED: Readonly<Record<DecisionState, string>> = {
  open: '',
  confirmed: 'You have let this through. Go back to the machine that asked: it carries it out now.',
  used: 'You have let this through, and it was carried out.',
  refused: 'You have refused this; nothing was done.',
  over: 'Nothing was done: you have refused this, or the key has changed since.',
};

function whoAsks({ access: { config } }: Visit, { machine, address, madeAtMs }: Asked): Html {
  return html`<p class="note">profilectl on the machine ${written(machine)} (from ${address}) asked for this ${timeText(madeAtMs)}. If that was not you, refuse it, and end its login on the page <a href="${publicPath(config, '/developers/sessions')}">Sessions</a>.</p>`;
}

/** What is decided, in words. Throws `refused` where a key can’t be approved any more. */
async function wordsOf(visit: Visit, { decision }: Asked): Promise<{ title: string; facts: Html; button: string }> {
  const { key } = await performHere(visit, OPERATIONS.show, { identifier: decision.identifier });
  return decisionInWords(visit, key, decision);
}

function pathOf(id: string): string {
  return `/developers/cli/decisions/${id}`;
}
