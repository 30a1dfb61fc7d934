import { cleanForTerminal } from '../../shared/text.ts';
import type { LogOutput } from './log.ts';

/** A line of the log: requests have a status, events a message. */
type LogLine = {
  time?: string;
  level?: string;
  message?: string;
  cause?: string;
  method?: string;
  route?: string | null;
  status?: number;
  milliseconds?: number;
  key?: string | null;
};

const PREFIXES: Record<string, string> = { warn: 'Warning: ', error: 'Error: ' };

/** The log for a person at a terminal: each line of JSON becomes readable text. */
export function inWords(output: LogOutput): LogOutput {
  const translate = (lines: string) => lines.split('\n').filter(Boolean).map(lineInWords).join('');
  return { write: (lines) => output.write(translate(lines)), drain: output.drain };
}

/** One JSON line of the log as text: `09:05:01 GET /api/key 200, 0.4 ms, key k7Qm2XaB`. */
export function lineInWords(json: string): string {
  const line = JSON.parse(json) as LogLine;
  const time = line.time === undefined ? '' : `${line.time.slice(11, 19)} `;
  const text = line.status === undefined ? eventText(line) : requestText(line);
  return `${cleanForTerminal(`${time}${text}`, true)}\n`;
}

function eventText({ level = '', message = '', cause }: LogLine): string {
  return `${PREFIXES[level] ?? ''}${message}${cause === undefined ? '' : `\n${cause}`}`;
}

function requestText({ method, route, status, milliseconds = 0, key }: LogLine): string {
  const by = key ? `, key ${key}` : '';
  return `${method} ${route ?? 'an unknown path'} ${status}, ${milliseconds.toFixed(1)} ms${by}`;
}
