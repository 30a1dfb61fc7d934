import { describe, expect, test } from 'bun:test';
import { createPortalServices } from '../../../../server/portal/services.ts';
import { settleBackground, stopBackground } from '../../../../server/thread/background.ts';
import { inviteAdmin, removeAdmin } from '../../../../shared/admins/admins.ts';
import { openDatabase } from '../../../../shared/db-files/open.ts';
import { rejectKey } from '../../../../shared/keys/life/lifecycle.ts';
import { keyHistory, showKey } from '../../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../../shared/operations.ts';
import { onBox } from '../../../support/actors.ts';
import { eraseProfile } from '../../../support/erase.ts';
import { changeByHand, importLines } from '../../../support/import.ts';
import { issue, mailedSecrets, request } from '../../../support/keys.ts';
import { type SmtpFailures, startSmtp } from '../../../support/mail/smtp.ts';
import {
  APPROVAL,
  adminWorld,
  decideAs,
  hiddenIn,
  type SignedInAdmin,
  signInAdmin,
  textOf,
  withPasskey,
} from '../../../support/portal/admin-pages.ts';
import { ask, type PageAnswer, type PageWorld, valuesOf, visit } from '../../../support/portal/pages.ts';
import { insertProfile } from '../../../support/profiles.ts';

// Several requests decided by one assertion, which covers exactly what the page showed of each. Each decision is carried out
// separately.

const QUEUE = '/developers/admin';

/** Pages, an admin, and requests of different profiles, oldest first. */
async function queueOf(count: number, variables: Record<string, string> = {}) {
  const world = await adminWorld(variables);
  const grace = await signInAdmin(world, 'Grace');
  const keys: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = 100 + n;
    insertProfile(world.access.db, { id, email: `user${id}@example.org` });
    keys.push(await request(world.access, { profile: `user${id}`, name: `Bot ${n}` }));
    world.clock.advance(1);
  }
  return { world, grace, keys };
}

type World = Pick<PageWorld, 'services'>;

/** Sends the form of the queue, or of the pages after it. */
const send = (world: World, { cookie }: SignedInAdmin, form: [string, string][]) =>
  ask(world, `${QUEUE}/decide`, { cookie, form });

const chosen = (keys: readonly string[]) => keys.map((key): [string, string] => ['chosen', key]);

/** Selects requests and presses the button for all of them; returns the next page. */
const choose = (world: World, admin: SignedInAdmin, keys: readonly string[], name = 'approve') =>
  send(world, admin, [...chosen(keys), [name, '']]);

/** The page of outcomes to which a response redirects. */
async function outcomesOf(world: World, { cookie }: SignedInAdmin, answer: PageAnswer): Promise<PageAnswer> {
  const [path = ''] = valuesOf(answer, 'location');
  expect([answer.status, path]).toEqual([303, expect.stringMatching(/^\/developers\/admin\/decided\/\d+$/)]);
  return ask(world, path, { cookie });
}

/** Everything that decisions could have changed. */
const traces = ({ access }: PageWorld) =>
  JSON.stringify(
    ['api_keys', 'key_events', 'key_attempts', 'notices'].map((table) =>
      access.db.$client.query(`SELECT * FROM ${table}`).all(),
    ),
  );

test('one assertion approves several requests as requested; each is shown completely before, and its outcome after', async () => {
  const { world, grace, keys } = await queueOf(6);
  const { access } = world;
  const { identifier: old } = await issue(
    access,
    { profile: 'ada', permissions: ['api.leaderboard'] },
    { rateLimits: [{ quota: 7, windowSeconds: 60 }] },
  );
  const successor = await request(access, { profile: 'ada', name: 'Next', successorOf: old });
  const all = [...keys, successor];
  const before = traces(world);
  const page = await choose(world, grace, all);
  expect([page.status, page.refusal]).toEqual([200, null]);
  const text = textOf(page);
  expect(text).toContain('Approve 7 requests?');
  for (const [at] of keys.entries()) {
    for (const part of [`Bot ${at}`, `user${100 + at}@example.org`]) expect(text).toContain(part);
  }
  // A successor gets the limits of the key that it replaces, which stays as it is.
  for (const part of [
    '7/1m (at most 7 requests in any minute)',
    `Expiry of key ${old}, which this one replaces stays as it is`,
  ]) {
    expect(text).toContain(part);
  }
  expect(traces(world)).toBe(before);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  const outcomes = await outcomesOf(world, grace, answer);
  expect(textOf(outcomes)).toContain('7 requests approved 7 of 7 mailed');
  for (const key of all) {
    expect([showKey(access, key).state, mailedSecrets(access, key).length]).toEqual(['Active', 1]);
    expect(keyHistory(access, key).at(-1)?.by).toBe('admin Grace');
  }
  expect(showKey(access, keys[0] as string)).toMatchObject({
    permissions: ['api.lookup'],
    rateLimits: [
      { quota: 60, windowSeconds: 60 },
      { quota: 5000, windowSeconds: 86_400 },
    ],
    expiresAt: null,
  });
  expect(showKey(access, successor).rateLimits).toEqual([{ quota: 7, windowSeconds: 60 }]);
  expect(world.events).toEqual([]);
});

/** The facts in a part of a page: labels and texts. */
const factsIn = (body: string): [label: string, text: string][] =>
  [...body.matchAll(/<dt>(.*?)<\/dt><dd>([\s\S]*?)<\/dd>/g)].map(([, label = '', text = '']) => [
    label,
    textOf({ status: 200, headers: [], refusal: null, body: `<main>${text.replace(/<em[^>]*>.*?<\/em>/, '')}` }).trim(),
  ]);

test('facts that most requests share are shown once, and no fact of a request is missing', async () => {
  const { world, grace, keys } = await queueOf(2);
  const { access } = world;
  const { identifier: old } = await issue(
    access,
    { profile: 'ada' },
    { rateLimits: [{ quota: 7, windowSeconds: 60 }] },
  );
  const description = 'Reads the leaderboard for a wall of fame, once an hour, and keeps only the last answer it got.';
  const projectUrl = 'https://wall.example.org/fame';
  keys.push(
    await request(access, {
      profile: 'user100',
      name: 'Wall',
      description,
      projectUrl,
      permissions: ['api.leaderboard'],
    }),
    await request(access, { profile: 'ada', name: 'Next', expectedUsage: '900 a day', successorOf: old }),
  );
  const page = await choose(world, grace, keys);
  const [above = '', ...blocks] = page.body.slice(0, page.body.indexOf('</ol>')).split('<li class="columns">');
  const common = factsIn(above);
  expect(common.map(([label]) => label)).toEqual([
    ...['Description', 'Project URL', 'Expected usage', 'Permissions', 'Rate limits', 'Expires'],
  ]);
  expect(page.body.match(/ <em class="missing">\(except for 1, marked below/g)?.length).toBe(5);
  for (const [at, key] of keys.entries()) {
    const block = blocks[at] ?? '';
    const own = factsIn(block);
    const whole = new Map([...common, ...own]);
    for (const [label, text] of factsIn((await send(world, grace, [['approve', key]])).body)) {
      const isShown = whole.get(label) === text || block.includes(`>${text}<`) || label === 'Requested';
      expect([key, label, text, isShown]).toEqual([key, label, text, true]);
    }
    expect(block).toContain(`datetime="${showKey(access, key).requestedAt}"`);
    // No fact is shown twice.
    expect(own.filter(([label, text]) => common.some(([other, same]) => other === label && same === text))).toEqual([]);
  }
  // Facts that differ from the common ones are marked: description, URL and permission of one, usage and limits of the other.
  expect(blocks.map((block) => block.match(/class="(text )?missing"/g)?.length ?? 0)).toEqual([0, 0, 3, 2]);
});

test('several requests are rejected with one reason, and one request by the button of its row', async () => {
  const { world, grace, keys } = await queueOf(4);
  const { access } = world;
  const [own = '', ...others] = keys;
  const asked = await choose(world, grace, others, 'reject');
  expect([asked.status, textOf(asked).includes('Reject 3 requests?'), asked.body.includes('data-passkey')]).toEqual([
    200,
    true,
    false,
  ]);
  const empty = await send(world, grace, [...hiddenIn(asked), ['reason', ' ']]);
  expect([empty.status, empty.refusal, empty.body.includes('<a href="#reason">')]).toEqual([422, 'refused_form', true]);
  const page = await send(world, grace, [...hiddenIn(asked), ['reason', 'Say more.']]);
  expect(textOf(page).match(/Reason Say more\./g)?.length).toBe(1);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('3 of 3 rejected');
  for (const key of others) {
    expect(keyHistory(access, key).at(-1)).toMatchObject({ event: 'rejected', detail: { reason: 'Say more.' } });
  }
  // The row's button is for its request alone, whatever else is selected.
  const one = await send(world, grace, [...chosen(others), ['reject', own]]);
  expect(textOf(one)).toContain('Reject “Bot 0”?');
  const confirmed = await send(world, grace, [...hiddenIn(one), ['reason', 'No.']]);
  const done = await send(world, grace, withPasskey(confirmed, grace.authenticator));
  expect(valuesOf(done, 'location')).toEqual([`${QUEUE}?decided=${own}`]);
  expect(textOf(await ask(world, `${QUEUE}?decided=${own}`, grace))).toContain(
    'Rejected: Bot 0 (user100). The owner gets the reason by e-mail.',
  );
});

test('20 requests with the longest reason fit in the form', async () => {
  const { world, grace, keys } = await queueOf(20);
  expect((await choose(world, grace, keys)).status).toBe(200);
  const asked = await choose(world, grace, keys, 'reject');
  const reason = '語'.repeat(2_000);
  const page = await send(world, grace, [...hiddenIn(asked), ['reason', reason]]);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('20 of 20 rejected');
  expect(keyHistory(world.access, keys[19] as string).at(-1)?.detail).toEqual({ reason });
});

test('a request approved from its row leads to the one after it, as from its own page, and the last one to the queue', async () => {
  const { world, grace, keys } = await queueOf(3);
  const [, second = '', third = ''] = keys;
  for (const [decided, name, next] of [
    [second, 'Bot 1', `${QUEUE}/keys/${third}`],
    [third, 'Bot 2', QUEUE],
  ]) {
    const page = await send(world, grace, [['approve', decided ?? '']]);
    expect(textOf(page)).toContain(`Approve “${name}”?`);
    const done = await send(world, grace, withPasskey(page, grace.authenticator));
    expect(valuesOf(done, 'location')).toEqual([`${next}?decided=${decided}`]);
    await settleBackground(world.services.background);
    expect(textOf(await ask(world, `${next}?decided=${decided}`, grace))).toContain(`Approved: ${name}`);
  }
});

describe('an assertion covers exactly the list that the page showed', () => {
  /** The hidden fields with the decisions changed. */
  const changed = (form: [string, string][], change: (decisions: string[]) => string[]): [string, string][] => [
    ...form.filter(([name]) => name !== 'decision'),
    ...change(form.filter(([name]) => name === 'decision').map(([, value]) => value)).map((value): [string, string] => [
      'decision',
      value,
    ]),
  ];

  test('a change of its order, a grant or the reason is refused', async () => {
    const { world, grace, keys } = await queueOf(3);
    const changes: Record<string, (decisions: string[]) => string[]> = {
      order: (decisions) => decisions.toReversed(),
      grant: ([first = '', ...others]) => [first.replace('60%2F1m', '61%2F1m'), ...others],
    };
    const before = traces(world);
    for (const [what, change] of Object.entries(changes)) {
      const form = withPasskey(await choose(world, grace, keys), grace.authenticator);
      const sent = changed(form, change);
      expect([what, JSON.stringify(sent) === JSON.stringify(form)]).toEqual([what, false]);
      const answer = await send(world, grace, sent);
      expect([what, answer.status, answer.refusal]).toEqual([what, 403, 'forbidden']);
      expect(textOf(answer)).toContain('The passkey confirmed something other than this; nothing was done.');
    }
    const asked = await choose(world, grace, keys, 'reject');
    const page = await send(world, grace, [...hiddenIn(asked), ['reason', 'No.']]);
    const form = withPasskey(page, grace.authenticator).map(([name, value]): [string, string] => [
      name,
      name === 'reason' ? 'Never.' : value,
    ]);
    expect((await send(world, grace, form)).status).toBe(403);
    await settleBackground(world.services.background);
    expect(traces(world)).toBe(before);
  });

  test('an approval with changed terms but without a passkey is shown again as requested', async () => {
    const { world, grace, keys } = await queueOf(2);
    const page = await choose(world, grace, keys);
    const form = changed(hiddenIn(page), (all) => all.map((one) => one.replace('60%2F1m', '999%2F1m')));
    const again = await send(
      world,
      grace,
      form.filter(([name]) => name !== 'credential'),
    );
    expect([again.status, again.body.includes('999/1m'), again.body.includes('60/1m')]).toEqual([200, false, true]);
  });
});

describe('the selection', () => {
  test('of 21 keys, no key, a malformed identifier, two buttons or one decision twice is refused; a repeated key counts once', async () => {
    const { world, grace, keys } = await queueOf(2);
    const many = Array.from({ length: 21 }, (_, n) => `AAAAAA${10 + n}`);
    const tooMany = await choose(world, grace, many);
    expect([
      tooMany.status,
      textOf(tooMany).includes('At most 20 requests can be decided on at once; you selected 21.'),
    ]).toEqual([422, true]);
    const none = await choose(world, grace, []);
    expect([none.status, textOf(none).includes('Select at least one request.')]).toEqual([422, true]);
    const twice = await choose(world, grace, [...keys, ...keys]);
    expect(textOf(twice)).toContain('Approve 2 requests?');
    for (const form of [
      [...chosen(['<b>']), ['approve', '']],
      [...chosen(keys), ['approve', ''], ['reject', '']],
      chosen(keys),
      [...hiddenIn(twice), ...hiddenIn(twice).filter(([name]) => name === 'decision')],
    ] as [string, string][][]) {
      expect((await send(world, grace, form)).refusal).toBe('bad_form');
    }
  });

  test('leaves out and names keys that can’t be decided on together, and leads back to the queue if none remains', async () => {
    const { world, grace, keys } = await queueOf(6);
    const { access } = world;
    const [fine = '', rejected = '', banned = '', moved = '', erased = ''] = keys;
    rejectKey(access, { identifier: rejected, reason: 'No.', by: onBox('root') });
    changeByHand(access, 'user102', () => ({ banned: true }));
    await importLines(access, [{ id: 103, username: 'user103', email: 'new@example.org' }]);
    eraseProfile(access, 'user104', onBox('root'));
    const { identifier: active } = await issue(access, { profile: 'ada' });
    const page = await choose(world, grace, [...keys, active, '00000000']);
    const text = textOf(page);
    expect([page.status, text.includes('Approve 2 requests?')]).toEqual([200, true]);
    for (const part of [
      `Key ${rejected} is rejected; only pending keys can be approved.`,
      `The profile user102 is banned`,
      `The e-mail address of the profile was changed since key ${moved} was requested`,
      `Key ${erased} is withdrawn`,
      `Key ${active} is Active`,
      'There is no key with this identifier',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toContain(fine);
    const queue = await ask(world, QUEUE, grace);
    for (const [key, isThere] of [
      [fine, true],
      [banned, false],
      [moved, false],
    ] as const) {
      expect([key, queue.body.includes(`name="chosen" value="${key}"`)]).toEqual([key, isThere]);
    }
    const none = await choose(world, grace, [rejected, active]);
    expect([none.status, none.refusal, none.body.includes('data-passkey')]).toEqual([422, 'refused_form', false]);
  });
});

test('a key that has been renamed, decided on, banned or erased since is refused, and the others are approved', async () => {
  const failures: SmtpFailures = { rcpt: '550 5.1.1 no such mailbox' };
  const smtp = await startSmtp({ failures });
  const { world, grace, keys } = await queueOf(6, { MAIL_URL: smtp.url, MAIL_FROM: 'keys@example.net' });
  const { access } = world;
  const hopper = await signInAdmin(world, 'Hopper');
  const [renamed = '', rejected = '', banned = '', erased = '', ...fine] = keys;
  // An earlier approval by the same admin is not the outcome of this one.
  await decideAs(world, grace, renamed, APPROVAL);
  await settleBackground(world.services.background);
  delete failures.rcpt;
  world.clock.advance(1);
  const page = await choose(world, grace, keys);
  await perform(access, onBox('owner'), OPERATIONS.edit, { identifier: renamed, name: 'Another name' });
  await decideAs(world, hopper, rejected, [
    ['operation', 'reject'],
    ['reason', 'No.'],
  ]);
  changeByHand(access, 'user102', () => ({ banned: true }));
  eraseProfile(access, 'user103', onBox('root'));
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  const outcomes = await outcomesOf(world, grace, answer);
  const text = textOf(outcomes);
  expect(text).toContain('2 of 6 mailed, 4 refused');
  // Its name is erased too, so the link shows the identifier.
  expect(outcomes.body).toContain(`keys/${erased}"><bdi>${erased}</bdi></a>`);
  expect(text).toContain(`Key ${renamed} has changed since it was shown: it was renamed. Nothing was done.`);
  expect(text).toContain(`Key ${rejected} has changed since it was shown: it is now rejected`);
  expect(text).toContain("The profile user102 is banned; it can't have keys.");
  expect(text).toContain(`Key ${erased} has changed since it was shown`);
  expect(fine.map((key) => showKey(access, key).state)).toEqual(['Active', 'Active']);
  expect([renamed, banned].map((key) => showKey(access, key).state)).toEqual(['pending', 'pending']);
  expect(smtp.received.flatMap(({ to }) => to).sort()).toEqual(['user104@example.org', 'user105@example.org']);
});

test('if every request has changed, none is approved and the page shows them as they are now', async () => {
  const { world, grace, keys } = await queueOf(2);
  const page = await choose(world, grace, keys);
  for (const identifier of keys) {
    await perform(world.access, onBox('owner'), OPERATIONS.edit, { identifier, name: 'Another name' });
  }
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  expect([answer.status, answer.refusal, textOf(answer).includes('Another name')]).toEqual([
    409,
    'changed_since',
    true,
  ]);
  expect(keys.map((key) => showKey(world.access, key).state)).toEqual(['pending', 'pending']);
});

test('two admins who approve the same list at once approve each key once, and each admin sees their own outcomes', async () => {
  const { world, grace, keys } = await queueOf(5);
  const hopper = await signInAdmin(world, 'Hopper');
  const [ofGrace, ofHopper] = [await choose(world, grace, keys), await choose(world, hopper, keys)];
  expect(textOf(await ask(world, `${QUEUE}/keys/${keys[2]}`, grace))).toContain(
    'Admin Hopper has been deciding on this key',
  );
  const answers = await Promise.all([
    send(world, grace, withPasskey(ofGrace, grace.authenticator)),
    send(world, hopper, withPasskey(ofHopper, hopper.authenticator)),
  ]);
  await settleBackground(world.services.background);
  const texts: string[] = [];
  for (const [at, admin] of [grace, hopper].entries()) {
    const answer = answers[at] as PageAnswer;
    if (answer.status === 303) texts.push(textOf(await outcomesOf(world, admin, answer)));
  }
  const mailed = texts.map((text) => Number(/(\d) of 5 mailed/.exec(text)?.[1]));
  expect(mailed.reduce((sum, one) => sum + one, 0)).toBe(5);
  for (const key of keys) {
    expect([showKey(world.access, key).state, mailedSecrets(world.access, key).length]).toEqual(['Active', 1]);
    expect(keyHistory(world.access, key).filter(({ event }) => event === 'approval started').length).toBe(1);
  }
});

test('decisions wait for a process that gets the lock just before them, and none is lost', async () => {
  const { world, grace, keys } = await queueOf(3);
  const { access } = world;
  const other = openDatabase(access.config.databasePath, 'use').$client;
  const { mailer } = access;
  let asked = 0;
  // An approval that has found the database unlocked asks for the mailer before it writes.
  world.services.access.mailer = async () => {
    if (asked++ === 0) {
      other.run('BEGIN IMMEDIATE');
      setTimeout(() => other.run('COMMIT'), 200);
    }
    return mailer();
  };
  const page = await choose(world, grace, keys);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('3 requests approved 3 of 3 mailed');
  expect(asked).toBeGreaterThan(3);
  other.close();
});

test('an approval that begins while the page of outcomes is made is not shown as refused', async () => {
  const { world, grace, keys } = await queueOf(2);
  const real = await world.access.mailer();
  const { promise, resolve } = Promise.withResolvers<typeof real>();
  let asked = 0;
  world.services.access.mailer = () => {
    asked++;
    return promise;
  };
  const page = await choose(world, grace, keys);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  // Both approvals wait for the mailer, and then begin.
  while (asked < 2) await Bun.sleep(1);
  const { inProgress } = world.services;
  const has = inProgress.has.bind(inProgress);
  // The page asks this just before it reads a key; the approvals begin in the microtasks after that.
  inProgress.has = (id) => {
    resolve(real);
    return has(id);
  };
  expect((await outcomesOf(world, grace, answer)).body).not.toContain('>refused<');
  await settleBackground(world.services.background);
  expect(textOf(await outcomesOf(world, grace, answer))).toContain('2 requests approved 2 of 2 mailed');
});

describe('while the e-mails are on their way', () => {
  /** Approvals through a mail server that accepts the messages it holds when `release` is called. */
  async function slow(count: number) {
    let open = Promise.withResolvers<void>();
    let begun = 0;
    const smtp = await startSmtp({
      onMessage: () => {
        begun++;
        return open.promise;
      },
    });
    const made = await queueOf(count, { MAIL_URL: `smtp://127.0.0.1:${smtp.port}`, MAIL_FROM: 'keys@example.net' });
    const page = await choose(made.world, made.grace, made.keys);
    const answer = await send(made.world, made.grace, withPasskey(page, made.grace.authenticator));
    const arrived = async (wanted: number) => {
      while (begun < wanted) await Bun.sleep(5);
    };
    const mailed = async (wanted: number) => {
      const isMailed = (key: string) => showKey(made.world.access, key).state === 'Active';
      while (made.keys.filter(isMailed).length < wanted) await Bun.sleep(5);
    };
    const release = () => {
      open.resolve();
      open = Promise.withResolvers();
    };
    const attempts = () => made.keys.filter((key) => showKey(made.world.access, key).attempt !== null).length;
    return { ...made, begun: () => begun, answer, arrived, mailed, release, attempts };
  }

  test('four approvals run at a time, and the page shows the current state of each', async () => {
    const { world, grace, answer, arrived, mailed, release, attempts, begun } = await slow(6);
    await arrived(4);
    expect([begun(), attempts()]).toEqual([4, 4]);
    const during = await outcomesOf(world, grace, answer);
    expect(textOf(during)).toContain('0 of 6 requests approved so far 0 of 6 mailed');
    expect(during.body.match(/>mailing</g)?.length).toBe(4);
    expect(during.body.match(/>next</g)?.length).toBe(2);
    expect(during.body).toContain('data-result="open"');
    expect(textOf(during)).toContain('Refresh');
    release();
    await Promise.all([arrived(6), mailed(4)]);
    expect(textOf(await outcomesOf(world, grace, answer))).toContain('4 of 6 mailed');
    release();
    await settleBackground(world.services.background);
    const after = await outcomesOf(world, grace, answer);
    expect([textOf(after).includes('6 of 6 mailed'), after.body.includes('data-result="open"')]).toEqual([true, false]);
  });

  test('once the server stops, no further approval starts, and the rest stay pending and are listed as not started', async () => {
    const { world, grace, keys, answer, arrived, attempts } = await slow(7);
    await arrived(4);
    world.services.isStopping = true;
    await stopBackground(world.services.background, 10);
    expect(attempts()).toBe(4);
    const restarted = { services: createPortalServices(world.access, () => {}) };
    const text = textOf(await outcomesOf(restarted, grace, answer));
    expect(text).toContain('0 of 7 mailed, 4 refused, 3 not started');
    expect(text).toContain('Still pending: select it again.');
    expect(keys.map((key) => showKey(world.access, key).state)).toEqual(keys.map(() => 'pending'));
  });

  test('after a crash half-way, the page shows every outcome from the database alone', async () => {
    const { world, grace, answer, arrived, mailed, release } = await slow(6);
    await arrived(4);
    release();
    await Promise.all([arrived(6), mailed(4)]);
    // The state of the thread is lost; the two approvals in progress are shown as such until their lease ends.
    const restarted = { services: createPortalServices(world.access, () => {}) };
    const during = await outcomesOf(restarted, grace, answer);
    expect(textOf(during)).toContain('4 of 6 mailed');
    expect(during.body.match(/>mailing</g)?.length).toBe(2);
    world.clock.advance(world.access.approvalLeaseMs);
    const after = textOf(await outcomesOf(restarted, grace, answer));
    expect(after).toContain('4 of 6 mailed, 2 refused');
    expect(after).toContain('it is not known whether the e-mail with the secret was delivered');
    release();
    await settleBackground(world.services.background);
  });

  test.each([
    ['removed', ({ access }: PageWorld) => removeAdmin(access, 'Grace', onBox('root'))],
    ['invited again', ({ access }: PageWorld) => inviteAdmin(access, 'Grace', { keepPasskeys: true }, onBox('root'))],
  ])('once the admin is %s, no further approval starts', async (_, end) => {
    const { world, grace, answer, arrived, release, attempts } = await slow(7);
    await arrived(4);
    end(world);
    release();
    await settleBackground(world.services.background);
    expect(attempts()).toBe(4);
    const [path = ''] = valuesOf(answer, 'location');
    expect((await ask(world, path, grace)).status).toBe(303);
  });
});

test('outcomes are shown for an hour, only to the admin who decided', async () => {
  const { world, grace, keys } = await queueOf(2);
  const hopper = await signInAdmin(world, 'Hopper');
  const page = await choose(world, grace, keys);
  const answer = await send(world, grace, withPasskey(page, grace.authenticator));
  await settleBackground(world.services.background);
  const [path = ''] = valuesOf(answer, 'location');
  expect((await visit(world, path, grace)).status).toBe(200);
  for (const other of [path.replace(/\d+$/, '0'), path.replace(/\d+$/, '999999'), path.replace(/\d+$/, '1x')]) {
    expect((await visit(world, other, grace)).status).toBe(404);
  }
  expect((await visit(world, path, hopper)).status).toBe(404);
  for (let minutes = 0; minutes < 60; minutes += 20) {
    expect((await visit(world, path, grace)).status).toBe(200);
    world.clock.advance(20 * 60_000);
  }
  expect((await visit(world, path, grace)).status).toBe(404);
});

test('a decision on a single request has no page of outcomes', async () => {
  const { world, grace, keys } = await queueOf(1);
  const { access } = world;
  const page = await decideAs(world, grace, keys[0] as string, [
    ['operation', 'reject'],
    ['reason', 'No.'],
  ]);
  expect(page.status).toBe(303);
  const { id } = access.sessions.sqlite.query('SELECT max(id) AS id FROM tickets').get() as { id: number };
  expect((await visit(world, `${QUEUE}/decided/${id}`, grace)).status).toBe(404);
});
