import { AppError } from '../../../shared/errors.ts';
import type { Fault, FromWorker, Order, Start, ToWorker } from './messages.ts';

/** One worker, from the main thread's side. */
export type Member = {
  readonly number: number;
  readonly worker: Worker;
  /** Whether it has begun to listen. */
  isServing: boolean;
  /** What it died of, as far as it said. */
  lastWords: string | null;
  /** Carries out an order; resolves when it is done, and when the worker has ended. Throws the worker's AppError. */
  order: (order: Order) => Promise<void>;
  tell: (message: ToWorker) => void;
  /** Resolves when the thread has ended, whatever of. */
  ended: Promise<void>;
  hasEnded: boolean;
};

/** Starts a worker's thread; `hear` gets what it sends beside the ends of its orders. */
export function startMember(number: number, hear: (member: Member, message: FromWorker) => void): Member {
  const worker = new Worker(new URL('./worker.ts', import.meta.url));
  const open = new Map<number, (fault: Fault | null) => void>();
  const ending = Promise.withResolvers<void>();
  let orders = 0;
  const tell = (message: ToWorker) => worker.postMessage(message);
  const member: Member = {
    number,
    worker,
    isServing: false,
    lastWords: null,
    order: async (order) => {
      const id = ++orders;
      const { promise, resolve } = Promise.withResolvers<Fault | null>();
      open.set(id, resolve);
      tell({ kind: 'order', id, order });
      const fault = await Promise.race([promise, ending.promise]);
      open.delete(id);
      if (fault) throw new AppError(fault.code, fault.message);
    },
    tell,
    ended: ending.promise,
    hasEnded: false,
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'done') open.get(data.id)?.(data.fault);
    else hear(member, data);
  };
  worker.onerror = (event) => {
    // Else it would be the main thread's own.
    event.preventDefault();
    member.lastWords = event.message;
  };
  worker.addEventListener('close', () => {
    member.hasEnded = true;
    ending.resolve();
  });
  return member;
}

/** Starts a worker and lets it serve. Throws `refused` where it ends instead, and what it throws. */
export async function serveWith(member: Member, start: Start): Promise<void> {
  await member.order({ kind: 'start', start });
  if (member.hasEnded) throw new AppError('refused', 'A worker ended while it started.', { cause: member.lastWords });
  member.isServing = true;
}
