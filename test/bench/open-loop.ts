import { readFileSync } from 'node:fs';
import type { Socket } from 'bun';

// A client that sends requests on a schedule set beforehand, whether or not earlier ones are answered, so that a server
// that stalls can't hold back the requests that would show it. Latency counts from the scheduled time. It spins on its own
// core. Prints a JSON line.

/** The JSON file that it reads. */
export type OpenLoopJob = {
  port: number;
  /** Requests as sent on the wire, with the bodies of their right responses. */
  questions: { request: string; body: string }[];
  perSecond: number;
  seconds: number;
};

/** Its report. */
export type OpenLoopReport = {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** The client's own delay: 99 of 100 requests were sent at most this long after they could have been. */
  p99LateMs: number;
  /**
   * The share of requests that were due, or answered, while the client itself was stalled; 0 to 1. They are left out.
   */
  leftOutShare: number;
  /** The 99th percentile including these. */
  p99WithThemMs: number;
  samples: number;
  wrong: string[];
};

const CONNECTIONS = 64;
const SAMPLE_EACH = 500;
const WARM_UP_SHARE = 0.3;
const STALL_MS = 0.5;
const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH_FIELD = /content-length: (\d+)/i;

const job: OpenLoopJob = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
const requests = job.questions.map(({ request }) => Buffer.from(request));

type Connection = {
  socket: Socket<Connection>;
  question: number;
  dueAt: number;
  isDueInStall: boolean;
  freeSince: number;
  /** Missing bytes of the response; 0 before its first. */
  missing: number;
  /** The response, if it is a sample. */
  pieces: Buffer[] | null;
};

const maxRequests = Math.ceil(job.perSecond * job.seconds * 1.5) + 1000;
const latencies = new Float64Array(maxRequests);
const clean = new Float64Array(maxRequests);
const lateness = new Float64Array(maxRequests);
const idle: Connection[] = [];
const samples: { question: number; body: string }[] = [];
let sent = 0;
let answered = 0;
let measured = 0;
let awakeAt = 0;
// When the client last stalled, because its processor was taken or it collected garbage, and its turns since then.
let stalledFrom = 0;
let stalledUntil = 0;
let turnsSinceStall = 0;

/** Records that the client is awake, and whether it has stalled since the last time. */
function wake(now: number): void {
  if (now - awakeAt > STALL_MS) {
    stalledFrom = awakeAt;
    stalledUntil = now;
    turnsSinceStall = 0;
  }
  awakeAt = now;
}

/**
 * Whether a latency is partly the client's own: the request was due, or answered, while it stalled. The server's time
 * makes neither more likely, so leaving these out does not flatter the server.
 */
function isSpoilt({ isDueInStall }: Connection): boolean {
  return isDueInStall || turnsSinceStall <= 1;
}

function send(connection: Connection, dueAt: number, now: number): void {
  lateness[sent] = now - Math.max(dueAt, connection.freeSince);
  connection.question = Math.floor(Math.random() * requests.length);
  connection.dueAt = dueAt;
  connection.isDueInStall = dueAt >= stalledFrom && dueAt <= stalledUntil;
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
  const now = performance.now();
  wake(now);
  latencies[answered++] = now - connection.dueAt;
  if (!isSpoilt(connection)) clean[measured++] = now - connection.dueAt;
  if (pieces !== null) samples.push({ question, body: Buffer.concat(pieces).toString() });
  connection.freeSince = now;
  idle.push(connection);
}

/** The bytes of a response, head and body, read from its first piece. */
function lengthOf(piece: Buffer): number {
  const end = piece.indexOf(HEAD_END);
  const length = LENGTH_FIELD.exec(piece.toString('latin1', 0, end))?.[1];
  if (end === -1 || length === undefined) throw new Error('a response whose head is in pieces, or without a length');
  return end + HEAD_END.length + Number(length);
}

async function open(): Promise<void> {
  const socket = await Bun.connect<Connection>({
    hostname: '127.0.0.1',
    port: job.port,
    socket: { data: ({ data }, piece) => receive(data, piece) },
  });
  socket.data = { socket, question: 0, dueAt: 0, isDueInStall: false, freeSince: 0, missing: 0, pieces: null };
  idle.push(socket.data);
}

/** Sends requests at random intervals (a Poisson process) until the end, and waits for the last responses. */
function drive(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const gapMs = 1000 / job.perSecond;
  const endAt = performance.now() + job.seconds * 1000;
  let dueAt = performance.now();
  awakeAt = dueAt;
  const turn = (): void => {
    const now = performance.now();
    wake(now);
    turnsSinceStall++;
    while (dueAt <= Math.min(now, endAt)) {
      // In turn, because the server closes a connection that is idle for ten seconds.
      const connection = idle.shift();
      if (connection === undefined) break;
      send(connection, dueAt, now);
      dueAt -= Math.log(1 - Math.random()) * gapMs;
    }
    if (dueAt > endAt && answered === sent) resolve();
    else setImmediate(turn);
  };
  turn();
  return promise;
}

function percentile(values: Float64Array, count: number, share: number): number {
  const sorted = values.slice(Math.floor(count * WARM_UP_SHARE), count).sort();
  return sorted[Math.floor(sorted.length * share)] ?? 0;
}

for (let count = 0; count < CONNECTIONS; count++) await open();
await drive();
const wrong = samples.filter(({ question, body }) => !body.endsWith(`\r\n\r\n${job.questions[question]?.body}`));
const report: OpenLoopReport = {
  perSecond: answered / job.seconds,
  p50Ms: percentile(clean, measured, 0.5),
  p99Ms: percentile(clean, measured, 0.99),
  p99LateMs: percentile(lateness, sent, 0.99),
  leftOutShare: 1 - measured / answered,
  p99WithThemMs: percentile(latencies, answered, 0.99),
  samples: samples.length,
  wrong: wrong.map(({ body }) => body.slice(0, 500)),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit(0);
