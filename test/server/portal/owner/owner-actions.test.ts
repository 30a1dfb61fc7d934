import { describe, expect, test } from 'bun:test';
import type { KeyState } from '../../../../shared/db/key-columns.ts';
import { KEY_STATES } from '../../../../shared/db/key-columns.ts';
import { changeKey } from '../../../../shared/keys/life/change.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { DECISIONS, OWNERS_ACTIONS } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { importLines } from '../../../support/import.ts';
import { issue, keyIn, request } from '../../../support/keys.ts';
import { adminWorld, decideAs, signInAdmin } from '../../../support/portal/admin-pages.ts';
import { ADA, type OwnerWorld, ownerWorld } from '../../../support/portal/owner-pages.ts';
import { unescaped, valuesOf, visit } from '../../../support/portal/pages.ts';

// The pages that are generated from the table of operations: those of owners' actions, and the buttons of admins' decisions.

const at = (world: OwnerWorld, path: string, form?: Record<string, string>) =>
  visit(world, `/developers/keys/${path}`, { cookie: world.cookie, ...(form && { form }) });

/** The hidden field that says which state of the key the page has shown. */
const shownIn = ({ body }: { body: string }) => /name="shown" value="([^"]+)"/.exec(body)?.[1] as string;

/** The class and the text of each button in a part of a page. */
const buttonsIn = (body: string) =>
  // An admin's page of a key has the buttons of decisions a second time, for narrow windows.
  [
    ...body
      .slice(Math.max(body.indexOf('<main'), body.indexOf('<aside')))
      .matchAll(/<button(?: class="([\w ]+)")?(?: form="\w+")?>([^<]+)/g),
  ].map(([, look, text]) => [text, look]);

/** The states from which an operation is possible. */
const statesOf = (from: readonly KeyState[] | null) => from ?? KEY_STATES;

/** Ada's key in each state. Keys that have ended come first, because only three may be in use. */
async function keysInAllStates() {
  const world = await ownerWorld();
  const inUse: readonly KeyState[] = ['pending', 'Active', 'suspended'];
  const keys = new Map<KeyState, string>();
  for (const state of [...KEY_STATES.filter((one) => !inUse.includes(one)), ...inUse]) {
    keys.set(state, await keyIn(state, { ...world.access, clock: world.clock }, ADA.username));
  }
  return { world, keys };
}

const inAllStates = keysInAllStates();

describe.each(OWNERS_ACTIONS.map(([operation, door]) => [operation.name, operation, door] as const))(
  '%s',
  (_, operation, door) => {
    const { texts, isDangerous, from, who } = operation;

    test('its page is generated from its entry, and the key’s page links to it exactly in the states that allow it', async () => {
      const { world, keys } = await inAllStates;
      expect([...keys.keys()].toSorted()).toEqual(KEY_STATES.toSorted());
      for (const [state, identifier] of keys) {
        const isPossible = statesOf(from).includes(state);
        const { body } = await at(world, identifier);
        const link = new RegExp(
          `<a( class="danger")? href="/developers/keys/${identifier}/${door.path}">${texts.button}${isDangerous ? '…' : ''}</a>`,
        ).exec(body);
        expect([state, link === null, link?.[1] !== undefined]).toEqual([
          state,
          !isPossible,
          isPossible && isDangerous,
        ]);
        const page = await at(world, `${identifier}/${door.path}`);
        expect([state, page.status]).toEqual([state, isPossible ? 200 : 422]);
        if (!isPossible) continue;
        expect(page.body).toContain(
          `<h1>${texts.title} “<bdi>${showKey(world.access, identifier).name}</bdi>”${isDangerous ? '?' : ''}</h1>`,
        );
        expect(page.body).toContain(door.consequence ?? texts.consequence);
        if ('name' in operation.input.shape) expect(page.body).toContain('value="Bot"');
        expect(buttonsIn(page.body)).toEqual([[texts.button, isDangerous ? 'danger' : undefined]]);
        expect(page.body).toContain(`<a class="cancel" href="/developers/keys/${identifier}">Cancel</a>`);
      }
    });

    test('there is no link for owners who may not perform it', async () => {
      const world = await ownerWorld();
      const state = statesOf(from)[0] as KeyState;
      const identifier = await keyIn(state, { ...world.access, clock: world.clock }, ADA.username);
      await importLines(world.access, [{ ...ADA, banned: true }]);
      const isLed = (await at(world, identifier)).body.includes(`/${door.path}"`);
      expect(isLed).toBe(who.owner !== 'own, unless banned');
    });

    test('it does what was shown, or says what has changed and does nothing', async () => {
      const world = await ownerWorld();
      const { access } = world;
      const identifier = statesOf(from).includes('Active')
        ? (await issue(access, { profile: ADA.username })).identifier
        : await request(access, { profile: ADA.username });
      const path = `${identifier}/${door.path}`;
      const first = await at(world, path);
      // Renamed by the operator, or given other limits.
      if (showKey(access, identifier).state === 'Active') {
        changeKey(access, { identifier, change: { rateLimits: [{ quota: 7, windowSeconds: 60 }] }, by: onBox('root') });
      } else await at(world, `${identifier}/rename`, { name: 'Another' });
      const before = showKey(access, identifier);
      const has = (field: string) => field in operation.input.shape;
      const fields = { ...(has('name') && { name: ' Böt 😀 ' }), ...(has('reason') && { reason: 'It leaked.' }) };
      const refused = await at(world, path, { ...fields, shown: shownIn(first) });
      expect([refused.status, refused.refusal]).toEqual([409, 'changed_since']);
      expect(refused.body).toContain(`Key ${identifier} has changed since it was shown: it`);
      expect(showKey(access, identifier)).toEqual(before);
      // That page shows the new state, which can be confirmed.
      expect(shownIn(refused)).not.toBe(shownIn(first));
      const done = await at(world, path, { ...fields, shown: unescaped(shownIn(refused)) });
      expect([done.status, valuesOf(done, 'location')]).toEqual([303, [`/developers/keys/${identifier}`]]);
      const detail = has('name') ? { nameBefore: before.name, nameAfter: 'Böt 😀' } : null;
      expect(keyHistory(access, identifier, 'owner').at(-1)).toMatchObject({
        ...{ event: operation.event, by: 'you', to: operation.to ?? before.state },
        detail: has('reason') ? { reason: 'It leaked.' } : detail,
      });
    });
  },
);

test('on admins’ pages only Approve is filled, and only the page that asks once more has a red button', async () => {
  const world = await adminWorld();
  const grace = await signInAdmin(world, 'Grace');
  for (const state of ['pending', 'Active'] as const) {
    const identifier = await keyIn(state, { ...world.access, clock: world.clock }, 'ada');
    const { body } = await visit(world, `/developers/admin/keys/${identifier}`, { cookie: grace.cookie });
    const possible = DECISIONS.filter(({ from }) => statesOf(from).includes(state));
    expect(buttonsIn(body)).toEqual(
      possible.map(({ texts, isDangerous, continuation }) => [
        `${texts.formButton ?? texts.button}${isDangerous ? '…' : ''}`,
        continuation !== null ? undefined : 'second',
      ]),
    );
    for (const { name, texts } of possible.filter(({ isDangerous }) => isDangerous)) {
      const asked = await decideAs(world, grace, identifier, [['operation', name]]);
      expect(buttonsIn(asked.body)).toEqual([[`${texts.button} it`, 'danger']]);
      expect(asked.body).toContain(`<a class="cancel" href="/developers/admin/keys/${identifier}">Cancel</a>`);
    }
  }
});
