import { join } from 'node:path';
import type { CliExchange } from '../../../shared/sign-in/cli-codes.ts';
import type { CodeRequest, Entry } from '../../../shared/sign-in/codes.ts';
import type { TicketKey } from '../../../shared/tickets/tickets.ts';
import { startLineChild } from '../line-child.ts';

/** A ticket's key as sent to another process; the hashes are hexadecimal. */
type KeyText = { purpose: TicketKey['purpose']; foundBy: string; proof: string | null };

/** The actions of sign-in-child.ts by name, each with its input. */
export type Act = {
  use: KeyText;
  enter: Entry;
  exchange: CliExchange;
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

/** Starts two processes on a database, which end when the test file is done. */
export async function startTwo(databasePath: string) {
  const file = join(import.meta.dir, 'sign-in-child.ts');
  const children = await Promise.all([0, 1].map(() => startLineChild(file, databasePath)));
  const resultOf = async (at: number) => JSON.parse((await children[at]?.next()) ?? 'null');
  const send = (at: number, line: string) => children[at]?.send(line);
  return {
    /** Lets one of them act. */
    one: async <Name extends keyof Act>(at: number, name: Name, given: Act[Name]) => {
      send(at, JSON.stringify([name, given]));
      return resultOf(at);
    },
    /** Lets both do the same at once. */
    both: async <Name extends keyof Act>(name: Name, given: Act[Name]) => {
      for (const at of [0, 1]) send(at, JSON.stringify([name, given]));
      return Promise.all([resultOf(0), resultOf(1)]);
    },
  };
}
