import { spawnSync } from 'node:child_process';

/** The kinds of actors, as stored with each action. */
export const ACTOR_KINDS = ['operator', 'admin', 'owner', 'backend', 'service'] as const;

export type ActorKind = (typeof ACTOR_KINDS)[number];

/**
 * The person who performs an operation (`shared/operations.ts`). `shown` is the revision that they were shown and have confirmed
 * (`keyRevision`, `shared/keys/record.ts`): the operation is refused if there is another by then.
 */
export type Person =
  /** Anybody who can open the database on the server itself; the name is the operating system's user. */
  | { kind: 'operator'; name: string; shown?: string }
  /** `signInId` is the sign-in with which they act: an operation is refused if that has ended. */
  | { kind: 'admin'; name: string; signInId?: number; shown?: string }
  /** The owner of one profile. The name is constant: history outlives an erased profile, so nothing in it may identify the owner. */
  | { kind: 'owner'; name: 'owner'; profileId: number; signInId?: number; shown?: string }
  /** A backend with a token; the name is the token's. */
  | { kind: 'backend'; name: string; shown?: never };

/** A person, or the service itself. The name is never an e-mail address. */
export type Actor = Person | { kind: 'service'; name: 'system' };

/** The service itself, for what no person does, such as revoking a key whose secret was found. */
export const SERVICE: Actor = { kind: 'service', name: 'system' };

/** An actor as stored: enough to be shown, but not to act. */
type StoredActor = { kind: ActorKind; name: string };

/**
 * The text that shows an actor to a kind of viewer. Operators and admins see names: `ada (on the box)`, `admin Grace`, `owner`,
 * `backend crm`, `system`. Owners see `you`, `an admin`, `the operator` or `system`.
 */
export function actorText({ kind, name }: StoredActor, viewer: ActorKind): string {
  if (viewer === 'owner') return SHOWN_TO_OWNERS[kind];
  if (kind === 'operator') return `${name} (on the box)`;
  if (kind === 'admin' || kind === 'backend') return `${kind} ${name}`;
  return name;
}

const SHOWN_TO_OWNERS: Record<ActorKind, string> = {
  operator: 'the operator',
  admin: 'an admin',
  owner: 'you',
  backend: 'the operator',
  service: 'system',
};

/**
 * The name of a user of the operating system, by default of this process; `uid 1000` if there is none. It is read from `id`,
 * since Bun's `userInfo` returns the variable USER, which many services leave unset and anybody can set.
 */
export function userName(uid?: number): string {
  const words = uid === undefined ? ['-un'] : ['-un', '--', String(uid)];
  const named = spawnSync('/usr/bin/id', words, { encoding: 'utf8' }).stdout?.trim();
  return named || `uid ${uid ?? process.geteuid?.() ?? 'unknown'}`;
}
