import { AppError } from '../../../shared/errors.ts';
import type { Fault, FromWorker, Order, Start, ToWorker } from './messages.ts';

/** A worker thread, as the main thread sees it. */
export type WorkerHandle = {
  /** From 1 to WORKERS; a replacement has the number of the dead worker. */
  readonly number: number;
  readonly worker: Worker;
  isServing: boolean;
  hasEnded: boolean;
  /** The message of the error that ended the thread; null if there was none. */
  lastError: string | null;
  /** Resolves when the thread has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Called when an order was carried out, by its number. */
  readonly openOrders: Map<number, (fault: Fault | null) => void>;
  /** The number of the latest order. */
  orders: number;
};

/** Starts a worker's thread. `onMessage` is called with all of its messages except the outcomes of orders. */
export function startWorker(
  number: number,
  onMessage: (handle: WorkerHandle, message: FromWorker) => void,
): WorkerHandle {
  const worker = new Worker(new URL('./worker.ts', import.meta.url));
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const handle: WorkerHandle = {
    number,
    worker,
    isServing: false,
    hasEnded: false,
    lastError: null,
    ended,
    openOrders: new Map(),
    orders: 0,
  };
  worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'done') handle.openOrders.get(data.id)?.(data.fault);
    else onMessage(handle, data);
  };
  worker.onerror = (event) => {
    // Without this, the error would be an uncaught error of the main thread.
    event.preventDefault();
    handle.lastError = event.message;
  };
  worker.addEventListener('close', () => {
    handle.hasEnded = true;
    end();
  });
  return handle;
}

/** Sends a message to a worker, and transfers the ports in it. */
export function post({ worker }: WorkerHandle, message: ToWorker, ports: MessagePort[] = []): void {
  worker.postMessage(message, ports);
}

/** Resolves when a worker has carried out an order, or has ended. Throws the worker's AppError. */
export async function giveOrder(handle: WorkerHandle, order: Order): Promise<void> {
  const id = ++handle.orders;
  const { promise, resolve } = Promise.withResolvers<Fault | null>();
  handle.openOrders.set(id, resolve);
  post(handle, { kind: 'order', id, order });
  const fault = await Promise.race([promise, handle.ended]);
  handle.openOrders.delete(id);
  if (fault) throw new AppError(fault.code, fault.message);
}

/** Makes a new worker listen. Throws the worker's AppError, and `refused` if its thread ends. */
export async function serveWith(handle: WorkerHandle, start: Start): Promise<void> {
  await giveOrder(handle, { kind: 'start', start });
  if (handle.hasEnded) throw new AppError('refused', 'A worker ended during its start.', { cause: handle.lastError });
  handle.isServing = true;
}
