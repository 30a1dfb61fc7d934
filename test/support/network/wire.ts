import { connect, type Socket } from 'node:net';

/** One response on a raw connection. */
export type WireAnswer = { status: number; head: string; body: string };

/** A connection with pipelined requests. `answers` waits for that many responses, or for the end. */
export function openConnection(port: number): {
  socket: Socket;
  send: (text: string) => void;
  answers: (count: number) => Promise<WireAnswer[]>;
} {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let isClosed = false;
  let wake = () => {};
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    wake();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
    wake();
  });
  const answers = async (count: number): Promise<WireAnswer[]> => {
    for (;;) {
      const found = readAnswers(text);
      if (found.length >= count || isClosed) return found;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { socket, send: (more) => void socket.write(Buffer.from(more, 'latin1')), answers };
}

/** The complete responses at the start of a string, each with a Content-Length or without a body. */
export function readAnswers(text: string): WireAnswer[] {
  const answers: WireAnswer[] = [];
  for (let from = 0; ; ) {
    const end = text.indexOf('\r\n\r\n', from);
    if (end === -1) return answers;
    const head = text.slice(from, end);
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
    if (text.length < end + 4 + length) return answers;
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    answers.push({ status, head, body: text.slice(end + 4, end + 4 + length) });
    from = end + 4 + length;
  }
}
