import { expect } from 'bun:test';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import type { Finished } from '../cli.ts';
import { runCommand } from '../machine/command.ts';
import { adminWorld, hiddenIn, type SignedInAdmin, signInAdmin, withPasskey } from './admin-pages.ts';
import { signIn } from './admins.ts';
import { personTokenFor } from './manage.ts';
import type { PageAnswer } from './pages.ts';
import { ask, type PageWorld, serverOfPages, unescaped, visit } from './pages.ts';

/** The URL of the key's page where an admin decides, as `profilectl` prints it. */
export const DECISION_PAGE = /https?:\S+?(\/developers\/admin\/keys\/\w{8}\?\S+)\s/;

/** A server, with the admin Grace and the owner of the profile `ada` (id 7), both logged in with `profilectl`. */
export async function remoteWorld(variables: Record<string, string> = {}) {
  const world = await adminWorld(variables);
  const { access, clock } = world;
  // The commands use the machine's clock.
  clock.advance(Date.now() - clock.nowMs());
  const grace = await signInAdmin(world, 'Grace');
  return {
    world,
    access,
    server: await serverOfPages(world),
    grace,
    adminToken: personTokenFor(access, (await signIn(access, grace.authenticator)).signed),
    ownerToken: personTokenFor(access, ownerToSign(access, 7) as Signed),
  };
}

/** Does what a person does on the page of a key, given its path and parameters. */
export type Decider = (path: string) => Promise<unknown>;

/** The reason that an admin types. */
export const REASON = 'It is not needed.';

/** Sends the form that the page filled in, with a reason if asked, and confirms with the admin's passkey. */
export function confirming(world: PageWorld, { cookie, authenticator }: SignedInAdmin): Decider {
  return async (path) => {
    const page = await ask(world, path, { cookie });
    const form = formOn(page, new URLSearchParams(path.split('?')[1]).get('operation') ?? '');
    const decide = `${path.split('?')[0]}/decide`;
    const next = await visit(world, decide, { cookie, form });
    const needsReason = next.body.includes('name="reason"') && !next.body.includes('data-passkey');
    const reason: [string, string][] = [...hiddenIn(next), ['reason', REASON]];
    const asked = needsReason ? await visit(world, decide, { cookie, form: reason }) : next;
    const { status } = await visit(world, decide, { cookie, form: withPasskey(asked, authenticator) });
    expect(status).toBe(303);
  };
}

/** The fields that the form of an operation on a key's page would send. */
export function formOn({ body }: PageAnswer, operation: string): [string, string][] {
  const begin = body.indexOf(`<form id="${operation}" `);
  const form = begin === -1 ? '' : body.slice(begin, body.indexOf('</form>', begin));
  return [...form.matchAll(/<input [^>]*>/g)].flatMap(([input]): [string, string][] => {
    const attribute = (name: string) => unescaped(new RegExp(` ${name}="([^"]*)"`).exec(input)?.[1] ?? '');
    const isLeftOut = ['checkbox', 'radio'].includes(attribute('type')) && !/ checked\b/.test(input);
    return isLeftOut ? [] : [[attribute('name'), attribute('value')]];
  });
}

/** Runs `profilectl` against a remote server to its end, with this token. */
export function profilectlAt(
  server: { url: string },
  token: string,
  words: readonly string[],
  decide?: Decider,
): Promise<Finished> {
  return profilectlDeciding([...words, '--host', server.url], { PROFILECTL_TOKEN: token }, decide);
}

/** Runs `profilectl` to its end, and calls `decide` with the path of a key's page when its URL is printed. */
export async function profilectlDeciding(
  words: readonly string[],
  variables: Record<string, string>,
  decide: Decider = async () => {},
  start: typeof runCommand = runCommand,
): Promise<Finished> {
  let decided: Promise<unknown> | null = null;
  const onError = (stderr: string) => {
    const [, path] = DECISION_PAGE.exec(stderr) ?? [];
    if (path !== undefined) decided ??= decide(path);
  };
  const done = await start(words, { variables, onError });
  await decided;
  return done;
}
