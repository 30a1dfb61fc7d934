import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';

// A client that sends requests on a schedule set beforehand, whether or not earlier ones are answered, so that a server that
// stalls can't hold back the requests that would show it. Latency counts from the scheduled time. It spins on its own core,
// and prints a line of JSON.

/** The JSON file that it reads: requests as sent on the wire, with the bodies of their right responses. */
export type OpenLoopJob = {
  port: number;
  questions: { request: string; body: string }[];
  perSecond: number;
  seconds: number;
};

export type OpenLoopReport = { p99Ms: number; wrong: string[] };

type Connection = {
  socket: Socket<Connection>;
  question: number;
  dueAt: number;
  /** Missing bytes of the response; 0 before its first. */
  missing: number;
  /** The response, if it is a sample. */
  pieces: Buffer[] | null;
};

const CONNECTIONS = 64;
const SAMPLE_EACH = 500;
const WARM_UP_SHARE = 0.3;
const HEAD_END = Buffer.from('\r\n\r\n');

const job: OpenLoopJob = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const requests = job.questions.map(({ request }) => Buffer.from(request));
const latencies: number[] = [];
const idle: Connection[] = [];
const wrong: string[] = [];
let sent = 0;

function send(connection: Connection, dueAt: number): void {
  connection.question = Math.floor(Math.random() * requests.length);
  connection.dueAt = dueAt;
  connection.pieces = ++sent % SAMPLE_EACH === 0 ? [] : null;
  connection.socket.write(requests[connection.question] as Buffer);
}

/** Receives a piece of a response; frees the connection at its end. */
function receive(connection: Connection, piece: Buffer): void {
  const { pieces, question } = connection;
  if (connection.missing === 0) connection.missing = lengthOf(piece);
  connection.missing -= piece.length;
  pieces?.push(Buffer.from(piece));
  if (connection.missing > 0) return;
  latencies.push(performance.now() - connection.dueAt);
  if (pieces !== null) {
    const answer = Buffer.concat(pieces).toString();
    if (!answer.endsWith(`\r\n\r\n${job.questions[question]?.body}`)) wrong.push(answer.slice(0, 500));
  }
  idle.push(connection);
}

/** The bytes of a response, head and body, read from its first piece. */
function lengthOf(piece: Buffer): number {
  const end = piece.indexOf(HEAD_END);
  const length = /content-length: (\d+)/i.exec(piece.toString('latin1', 0, end))?.[1];
  if (end === -1 || length === undefined) throw new Error('a response whose head is in pieces, or without a length');
  return end + HEAD_END.length + Number(length);
}

/** Sends requests at random intervals (a Poisson process) until the end, and waits for the last responses. */
function drive(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const gapMs = 1_000 / job.perSecond;
  let dueAt = performance.now();
  const endAt = dueAt + job.seconds * 1_000;
  const turn = (): void => {
    while (dueAt <= Math.min(performance.now(), endAt)) {
      // In turn, because the server closes a connection that is idle for ten seconds.
      const connection = idle.shift();
      if (connection === undefined) break;
      send(connection, dueAt);
      dueAt -= Math.log(1 - Math.random()) * gapMs;
    }
    if (dueAt > endAt && latencies.length === sent) resolve();
    else setImmediate(turn);
  };
  turn();
  return promise;
}

for (let count = 0; count < CONNECTIONS; count++) {
  const socket = await Bun.connect<Connection>({
    hostname: '127.0.0.1',
    port: job.port,
    socket: { data: ({ data }, piece) => receive(data, piece) },
  });
  socket.data = { socket, question: 0, dueAt: 0, missing: 0, pieces: null };
  idle.push(socket.data);
}
await drive();
const counted = latencies.slice(Math.floor(latencies.length * WARM_UP_SHARE)).sort((a, b) => a - b);
const report: OpenLoopReport = { p99Ms: counted[Math.floor(counted.length * 0.99)] ?? 0, wrong };
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
