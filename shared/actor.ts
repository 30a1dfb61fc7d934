import type { ShownVersion } from './shown-version.ts';

/** The kinds of actors, as stored with each action. */
export const ACTOR_KINDS = ['operator', 'admin', 'owner', 'backend', 'service'] as const;

export type ActorKind = (typeof ACTOR_KINDS)[number];

/**
 * The person who performs an operation (`shared/operations.ts`). `shown` is the version that they were shown and have confirmed
 * (`shared/shown-version.ts`); the operation is refused if it has changed. `version` names the facts that count, by default all.
 */
export type Person =
  /** Anybody who can open the database on the server itself; the name is the operating system's user. */
  | { kind: 'operator'; name: string; shown?: ShownVersion; version?: readonly string[] }
  /**
   * `generation` is what the sign-in is bound to: an operation is refused if that has changed.
   */
  | {
      kind: 'admin';
      name: string;
      generation?: number;
      shown?: ShownVersion;
      version?: readonly string[];
    }
  /**
   * The owner of one profile. The name is constant: history outlives an erased profile, so nothing in it may identify the owner.
   * `shown` is the version of the profile to which the sign-in is bound, `keyVersion` that of the key on the page where they
   * confirmed the operation.
   */
  | {
      kind: 'owner';
      name: 'owner';
      profileId: number;
      shown?: ShownVersion;
      keyVersion?: ShownVersion;
      version?: readonly string[];
    }
  /** A backend with a token; the name is the token's. */
  | { kind: 'backend'; name: string; version?: readonly string[] };

/** A person, or the service itself. The name is never an e-mail address. */
export type Actor = Person | { kind: 'service'; name: 'system' };

/** The service itself, for what no person does, such as revoking a key whose secret was found. */
export const SERVICE: Actor = { kind: 'service', name: 'system' };

/** An actor as stored: enough to be shown, but not to act. */
export type StoredActor = { kind: ActorKind; name: string };

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
