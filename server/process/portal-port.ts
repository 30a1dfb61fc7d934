/** A request, as sent to the portal's thread. */
export type ToPort = {
  id: number;
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: Uint8Array<ArrayBuffer> | null;
};

/** Sent to the portal's thread to check whether it hangs; the thread sends it back. */
export const PING = 'ping';

/** A response, as sent back, with the number of its request. Set-Cookie may occur several times. */
export type FromThread = { id: number; status: number; headers: [name: string, value: string][]; body: ArrayBuffer };

/** A message of the portal's thread. */
export type FromPort = typeof PING | FromThread;

/** Answers the requests on a port by `fetch`, which must not throw. The port closes when the thread at the other end ends. */
export function answerPort(port: MessagePort, fetch: (request: Request) => Promise<Response>): void {
  port.onmessage = async ({ data }: { data: ToPort | typeof PING }) => {
    if (data === PING) return port.postMessage(PING);
    const { id, url, ...init } = data;
    const answer = await fetch(new Request(url, init));
    const body = await answer.arrayBuffer();
    const message: FromThread = { id, status: answer.status, headers: [...answer.headers], body };
    port.postMessage(message, [body]);
  };
}
