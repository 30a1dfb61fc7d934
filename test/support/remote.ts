import { expect } from 'bun:test';
import type { Signed } from '../../shared/access/session-row.ts';
import { ownerToSign } from '../../shared/access/sessions.ts';
import { adminWorld, type SignedInAdmin, signInAdmin, withPasskey } from './admin-pages.ts';
import { signIn } from './admins.ts';
import { cleanEnvironment, type Finished, PROJECT, profilectlWords } from './cli.ts';
import { personTokenFor } from './manage.ts';
import { ask, type PageWorld, serverOfPages, visit } from './pages.ts';
import { noteOutput } from './secret-search.ts';

/** The address of a page that lets one decision through, as `profilectl` prints it. */
const PAGE = /^https?:\S+?(\/developers\/cli\/decisions\/\w{8})$/m;

/** A server, with the admin Grace and the owner of the profile `ada` (id 7), whose `profilectl` are let in. */
export async function remoteWorld(variables: Record<string, string> = {}) {
  const world = await adminWorld(variables);
  const { access, clock } = world;
  // The commands go by the machine's clock.
  clock.advance(Date.now() - clock.nowMs());
  const grace = signInAdmin(world, 'Grace');
  return {
    world,
    access,
    server: await serverOfPages(world),
    grace,
    adminToken: personTokenFor(access, signIn(access, grace.authenticator).signed),
    ownerToken: personTokenFor(access, ownerToSign(access, 7) as Signed),
  };
}

/** What a person does with the page of a decision, by its path. */
export type Decider = (path: string) => Promise<unknown>;

/** Lets each decision through with the passkey of an admin who is signed in. */
export function confirming(world: PageWorld, { cookie, authenticator }: SignedInAdmin): Decider {
  return async (path) => {
    const page = await ask(world, path, { cookie, form: {} });
    const { status } = await visit(world, path, { cookie, form: withPasskey(page, authenticator) });
    expect(status).toBe(303);
  };
}

/** Refuses each decision. */
export function refusing(world: PageWorld, { cookie }: SignedInAdmin): Decider {
  return (path) => visit(world, `${path}/refuse`, { cookie, form: {} });
}

/** Runs `profilectl` at a server to its end, with this token. */
export function profilectlAt(
  server: { url: string },
  token: string,
  words: readonly string[],
  decide?: Decider,
): Promise<Finished> {
  return profilectlDeciding([...words, '--host', server.url], { PROFILECTL_TOKEN: token }, decide);
}

/** Runs `profilectl` to its end; `decide` is told of the page of a decision once that is printed. */
export async function profilectlDeciding(
  words: readonly string[],
  variables: Record<string, string>,
  decide: Decider = async () => {},
): Promise<Finished> {
  const child = Bun.spawn(profilectlWords(words), {
    env: cleanEnvironment(variables),
    cwd: PROJECT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  let decided: Promise<unknown> | null = null;
  const gather = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) {
      stderr += decoder.decode(chunk, { stream: true });
      const [, path] = PAGE.exec(stderr) ?? [];
      if (path !== undefined) decided ??= decide(path);
    }
  };
  const [stdout, code] = await Promise.all([new Response(child.stdout).text(), child.exited, gather()]);
  await decided;
  noteOutput(stdout + stderr);
  return { code, stdout, stderr };
}
