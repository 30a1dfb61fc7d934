import {
  createPrompt,
  isEnterKey,
  type Status,
  useEffect,
  useKeypress,
  usePrefix,
  useRef,
  useState,
} from '@inquirer/core';
import type { TextQuestion } from './question.ts';

/** The text typed so far: the finished lines, and the line with the cursor. */
type Typed = { finished: string[]; line: string; isPasting: boolean };

/** Line ends inside one piece of input. Terminals that don't mark pasted text send them when text is pasted. */
export type PastedLineEnds = { left: number };

/** Turns on marks around pasted text, so that a line end in it can be told from Enter, and turns them off. */
export const MARK_PASTES = '\u001b[?2004h';
export const MARK_NO_PASTES = '\u001b[?2004l';

/**
 * Asks for a text and shows below it what is wrong with it while it is typed. Enter has no effect until the text is valid. A
 * pasted line end stays in a long text and becomes a space in a short one.
 */
export const textPrompt = createPrompt<string, TextQuestion & { lineEnds: PastedLineEnds }>((question, done) => {
  const [status, setStatus] = useState<Status>('idle');
  const [, redraw] = useState({});
  const { current: typed } = useRef(typedFrom(question.initial ?? ''));
  const prefix = usePrefix({ status });
  useEffect((rl) => {
    if (typed.line !== '') rl.write(typed.line);
  }, []);
  useKeypress((key, rl) => {
    if (status === 'done') return;
    const isEnter = isEnterKey(key);
    if (key.name === 'paste-start' || key.name === 'paste-end') typed.isPasting = key.name === 'paste-start';
    else if (isEnter && isPastedLineEnd(typed, question.lineEnds)) {
      if (question.isLong) Object.assign(typed, { finished: [...typed.finished, typed.line], line: '' });
      else rl.write(`${typed.line} `);
    } else if (isEnter && question.fault(textOf(typed)) === null) {
      setStatus('done');
      return done(textOf(typed));
    } else if (isEnter) rl.write(typed.line);
    else if (key.name === 'backspace' && typed.line === '' && typed.finished.length > 0) {
      typed.line = typed.finished.pop() ?? '';
      rl.write(typed.line);
    } else typed.line = rl.line;
    // Each redraw writes the whole text, so a pasted text is drawn only once, at its end.
    if (!typed.isPasting) redraw({});
  });
  const text = textOf(typed);
  const below = text === '' ? question.hint : (question.fault(text) ?? `${question.message}: fine. Enter to go on.`);
  return [`${prefix} ${question.message}: ${text}`, status === 'done' ? '' : below];
});

function typedFrom(text: string): Typed {
  const lines = text.split('\n');
  return { finished: lines.slice(0, -1), line: lines.at(-1) ?? '', isPasting: false };
}

function textOf({ finished, line }: Typed): string {
  return [...finished, line].join('\n');
}

function isPastedLineEnd({ isPasting }: Typed, lineEnds: PastedLineEnds): boolean {
  if (isPasting) return true;
  if (lineEnds.left === 0) return false;
  lineEnds.left--;
  return true;
}
