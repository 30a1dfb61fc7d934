import { KEYS_PER_PROFILE, PLACE_HOLDERS } from '../../../shared/keys/key.ts';
import { OPERATIONS } from '../../../shared/operations.ts';
import { html } from '../../html.ts';
import { publicPath } from '../../http/public-path.ts';
import { performHere } from '../../thread/perform.ts';
import { keyTable } from '../html/key-table.ts';
import type { Page, Visit } from '../requests/request-context.ts';
import { bannedNote, ownKeyPath, ownProfile } from './own-profile.ts';

/** `GET /developers/keys`: the keys of one's own profile, and how many places are taken. */
export async function keys(visit: Visit): Promise<Page> {
  const owner = ownProfile(visit);
  const { keys: all, lastUses } = await performHere(visit, OPERATIONS.list, {});
  const nowMs = visit.access.clock.nowMs();
  const linkTo = ownKeyPath(visit);
  const held = all.filter(({ state }) => PLACE_HOLDERS.some((holder) => holder === state));
  const ended = all.filter((key) => !held.includes(key)).toReversed();
  const isFull = held.length >= KEYS_PER_PROFILE;
  const request = html`<p><a class="button" href="${publicPath(visit.access.config, '/developers/keys/new')}">Request a key</a></p>`;
  const full = html`<p>To request another one, withdraw or revoke one first.</p>`;
  const next = isFull ? full : request;
  return {
    title: 'Your keys',
    body: html`<h1>Keys of <bdi>${owner.username}</bdi></h1>
${bannedNote(owner)}
<p>${held.length} of ${KEYS_PER_PROFILE} places are taken: a profile can hold so many keys that are pending, Active or suspended.</p>
${owner.banned ? '' : next}
${held.length === 0 ? '' : keyTable({ keys: held, lastUses, caption: 'Pending, Active and suspended keys', linkTo, nowMs })}
${ended.length === 0 ? '' : html`<h2>Ended</h2>${keyTable({ keys: ended, lastUses, caption: 'Keys that work no more, and requests that came to nothing; the latest first', linkTo, nowMs })}`}`,
  };
}
