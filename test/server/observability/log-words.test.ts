import { expect, test } from 'bun:test';
import { createLog, type LogOutput } from '../../../server/observability/log.ts';
import { inWords } from '../../../server/observability/log-words.ts';

function logOf() {
  const written: string[] = [];
  const output: LogOutput = { write: (lines) => void written.push(lines), drain: async () => {} };
  const log = createLog('info', () => Date.parse('2026-01-01T09:05:01Z'), inWords(output).write);
  return { log, written };
}

test('events are their sentences, with a prefix for warnings and errors, and without control characters', () => {
  const { log, written } = logOf();
  log.event('info', 'Stopping: finishing requests in flight.');
  log.event('warn', 'The disk\u001b[2J is full.');
  log.event('error', 'It failed.', { requestId: 'r', cause: 'why' });
  expect(written.join('')).toBe(
    '09:05:01 Stopping: finishing requests in flight.\n09:05:01 Warning: The disk[2J is full.\n09:05:01 Error: It failed.\nwhy\n',
  );
});

test('several lines in one write, as from workers or after a full disk, stay separate', () => {
  const written: string[] = [];
  const output: LogOutput = { write: (lines) => void written.push(lines), drain: async () => {} };
  const request = '"method":"GET","route":null,"status":404,"milliseconds":0.25,"key":null,"address":"::1"';
  inWords(output).write(
    `{"level":"warn","message":"2 log lines were dropped."}\n{"time":"2026-01-01T09:05:01.000Z",${request}}\n`,
  );
  expect(written).toEqual(['Warning: 2 log lines were dropped.\n09:05:01 GET an unknown path 404, 0.3 ms\n']);
});
