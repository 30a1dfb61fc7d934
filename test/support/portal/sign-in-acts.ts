import { join } from 'node:path';
import type { CodeRequest, Entry } from '../../../shared/sign-in/codes.ts';
import type { TicketKey } from '../../../shared/tickets/tickets.ts';
import { startLineChild } from '../line-child.ts';

/** A ticket's key as sent to another process; the hashes are hexadecimal. */
type KeyText = { purpose: TicketKey['purpose']; foundBy: string; proof: string | null };

/** The actions of sign-in-child.ts by name, each with its input. */
export type Act = {
  use: KeyText;
  enter: Entry;
  'hand over': string;
  ask: CodeRequest & { atMs: number };
};

/** Encodes a ticket's key as text. {@link keyIn} decodes it. */
export function textOf({ purpose, foundBy, proof }: TicketKey): KeyText {
  return { purpose, foundBy: foundBy.toString('hex'), proof: proof?.toString('hex') ?? null };
}

export function keyIn({ purpose, foundBy, proof }: KeyText): TicketKey {
  const key = { purpose, foundBy: Buffer.from(foundBy, 'hex') };
  return proof === null ? key : { ...key, proof: Buffer.from(proof, 'hex') };
}

/** Starts a process on a database, which ends when the test file is done. */
export async function startActor(databasePath: string) {
  const { send, next } = await startLineChild(join(import.meta.dir, 'sign-in-child.ts'), databasePath);
  return {
    /** Lets it act; returns the result. */
    act: async <Name extends keyof Act>(name: Name, given: Act[Name]) => {
      send(JSON.stringify([name, given]));
      return JSON.parse((await next()) ?? 'null');
    },
  };
}

/** Starts two processes on a database. */
export async function startTwo(databasePath: string) {
  const [one, other] = await Promise.all([startActor(databasePath), startActor(databasePath)]);
  return {
    one,
    /** Lets both do the same at once. */
    both: <Name extends keyof Act>(name: Name, given: Act[Name]) =>
      Promise.all([one.act(name, given), other.act(name, given)]),
  };
}
