import type { Socket } from 'node:net';
import { noteSecretsIn } from '../secret-search.ts';
import type { SmtpFault, SmtpStage } from './smtp.ts';

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

/** A client's dialogue with a faulty server: its faults, and what has happened so far. */
export type Conversation = { faults: Partial<Record<SmtpStage, SmtpFault>>; seen: SmtpStage[]; content: string };

/** Answers a client until a fault ends it. */
export function converse(socket: Socket, conversation: Conversation): void {
  let inContent = false;
  let inHandshake = false;
  let pending = '';
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    // A TLS handshake is never answered. Its random bytes may contain a line end, but no command before it.
    if (inHandshake) return;
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
      const answer = reach(stage, socket, conversation);
      inContent = answer.startsWith('354');
      inHandshake = stage === 'STARTTLS' && answer.startsWith('220');
    }
  });
  socket.on('close', () => noteSecretsIn(conversation.content));
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
