import { AppError } from '../../../shared/errors.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { html } from '../../html.ts';
import { performHere } from '../../thread/perform.ts';
import { attemptStatus, type ShownAttempt } from '../html/attempt.ts';
import { keyLink, stateTag } from '../html/key-facts.ts';
import { written } from '../html/user-text.ts';
import type { Visit } from '../requests/request-context.ts';
import { adminKeyPath } from './admin-path.ts';

/**
 * What became of the key that the admin has decided on just before, which the page's parameter `decided` names, so that he can
 * go on to the next request while a mail is on its way. Nothing where no key is named.
 */
export async function decidedNote(visit: Visit): Promise<ShownAttempt> {
  const identifier = visit.query.get('decided') ?? '';
  const shown = identifier === '' ? null : await showIfThere(visit, identifier);
  if (shown === null) return { body: html``, scripts: [] };
  const { key, history } = shown;
  const linkTo = adminKeyPath(visit);
  const isApproval = key.state === 'pending' || history.at(-1)?.event === 'approved';
  const attempt = isApproval ? attemptStatus(key, history, linkTo(identifier), 'decided') : null;
  return {
    body: html`<p>You decided on key ${keyLink(identifier, linkTo)} ${written(key.name)}${ofProfile(key)}. ${stateTag(key)}</p>
${attempt?.body ?? ''}`,
    scripts: attempt?.scripts ?? [],
  };
}

function ofProfile({ profile }: KeyView) {
  return profile === null ? '' : html` of ${written(profile)}`;
}

async function showIfThere(visit: Visit, identifier: string) {
  try {
    return await performHere(visit, OPERATIONS.show, { identifier });
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}
