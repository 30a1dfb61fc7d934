/** A request as it crosses a port to the portal's thread. */
export type ToPort = {
  id: number;
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: Uint8Array<ArrayBuffer> | null;
};

/** Sent to the portal's thread to check whether it hangs, and sent back by it. */
export const PING = 'ping';

/** An answer as it crosses the port back, with the number of its request. Set-Cookie may occur several times. */
export type FromPort =
  | typeof PING
  | { id: number; status: number; headers: [name: string, value: string][]; body: ArrayBuffer };

/**
 * Answers the requests that arrive on a port with an application's `fetch`, which must not throw. The port closes when the
 * thread at its other end does.
 */
export function answerPort(port: MessagePort, fetch: (request: Request) => Promise<Response>): void {
  port.onmessage = async ({ data }: { data: ToPort | typeof PING }) => {
    if (data === PING) return port.postMessage(PING);
    const { id, url, ...init } = data;
    const answer = await fetch(new Request(url, init));
    const body = await answer.arrayBuffer();
    const message: FromPort = { id, status: answer.status, headers: [...answer.headers], body };
    port.postMessage(message, [body]);
  };
}
