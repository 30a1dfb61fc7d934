import type { Person } from '../../../shared/actor.ts';
import { type Owner, readOwnerById } from '../../../shared/keys/record.ts';
import { type Html, html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import type { Visit } from '../requests/request-context.ts';

/** The profile of the owner who is signed in. Throws `not_found` where it has just been erased. */
export function ownProfile({ access, person }: Visit): Owner {
  return readOwnerById(access.db, (person as Extract<Person, { kind: 'owner' }>).profileId);
}

/** Says of a banned profile what becomes of its keys and what its owner may still do; nothing of any other. */
export function bannedNote({ username, banned }: Owner): Html {
  if (!banned) return html``;
  return html`<p class="note">The profile <bdi>${username}</bdi> is banned. Its keys are refused while the ban lasts, and work again when it is lifted. You can look at its keys, withdraw requests and revoke keys, but not request or rename any.</p>`;
}

/** The addresses of the owner's pages about keys, as a browser needs them. */
export function ownKeyPath({ access: { config } }: Pick<Visit, 'access'>): (identifier: string) => string {
  return (identifier) => publicPath(config, `/developers/keys/${identifier}`);
}
