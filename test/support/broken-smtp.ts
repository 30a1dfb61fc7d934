import { afterAll } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { listenOnLoopback } from './smtp.ts';

/** Where a {@link startBrokenSmtp} server goes wrong; `content` is the first byte after its 354, `dot` the end of data. */
export type SmtpStage = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content' | 'dot';

/**
 * What it does there: says nothing more, sends continuation lines without end, closes the connection, or answers with
 * this reply (`\r\n` is added).
 */
export type SmtpFault = 'silence' | 'drip' | 'close' | `${number}${' ' | '-'}${string}`;

const REPLIES: Record<SmtpStage, string> = {
  greeting: '220 broken.example.org',
  EHLO: '250-broken.example.org\r\n250 AUTH PLAIN',
  STARTTLS: '502 5.5.1 not implemented',
  AUTH: '235 2.7.0 welcome',
  MAIL: '250 2.1.0 ok',
  RCPT: '250 2.1.5 ok',
  DATA: '354 go on',
  content: '',
  dot: '250 2.0.0 queued',
};

/** A server that goes wrong. `port` is on 127.0.0.1. */
export type BrokenSmtp = {
  port: number;
  /** The stages in the order in which they were reached. */
  seen: SmtpStage[];
  /** All that came after DATA. */
  content: () => string;
  /** Settles when the client's connection is gone. */
  closed: Promise<void>;
  stop: () => void;
};

/** Starts a server that speaks just enough SMTP to go wrong at one stage, for what a real one can't be made to do. */
export async function startBrokenSmtp(faults: Partial<Record<SmtpStage, SmtpFault>>): Promise<BrokenSmtp> {
  const { promise: closed, resolve: setClosed } = Promise.withResolvers<void>();
  const conversation: Conversation = { faults, seen: [], content: '' };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => setClosed());
    converse(socket, conversation);
  });
  const port = await listenOnLoopback(server);
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  afterAll(stop);
  return { port, seen: conversation.seen, content: () => conversation.content, closed, stop };
}

type Conversation = { faults: Partial<Record<SmtpStage, SmtpFault>>; seen: SmtpStage[]; content: string };

function converse(socket: Socket, conversation: Conversation): void {
  let inContent = false;
  let pending = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    if (inContent) {
      if (conversation.content === '') reach('content', socket, conversation);
      conversation.content += chunk;
      if (!conversation.content.endsWith('\r\n.\r\n')) return;
      inContent = false;
      reach('dot', socket, conversation);
      return;
    }
    pending += chunk;
    const lines = pending.split('\r\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      const stage = line.split(' ')[0] as SmtpStage;
      inContent = reach(stage, socket, conversation).startsWith('354');
    }
  });
  reach('greeting', socket, conversation);
}

function reach(stage: SmtpStage, socket: Socket, { faults, seen }: Conversation): string {
  const earlier = seen.at(-1);
  if (earlier !== undefined && faults[earlier] === 'silence') return '';
  seen.push(stage);
  const answer = faults[stage] ?? REPLIES[stage] ?? '500 5.5.2 unknown command';
  if (answer === 'close') socket.destroy();
  else if (answer === 'drip') drip(socket);
  else if (answer !== 'silence' && answer !== '') socket.write(`${answer}\r\n`);
  return answer;
}

function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('250-still at it\r\n'), 5);
  socket.on('close', () => clearInterval(timer));
}
