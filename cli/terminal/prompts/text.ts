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

/**
 * The text typed so far: the finished lines, and the line with the cursor. `refusal` says why Enter was refused; the next key
 * clears it.
 */
type Typed = { finished: string[]; line: string; isPasting: boolean; refusal: string | null };

/** The number of line ends inside a piece of input. Terminals without bracketed paste send pasted text as one piece. */
export type PastedLineEnds = { left: number };

/** Turn bracketed paste on and off. It distinguishes a line end in pasted text from Enter. */
export const MARK_PASTES = '\u001b[?2004h';
export const MARK_NO_PASTES = '\u001b[?2004l';

/**
 * Asks for a text, and shows below it what is wrong with it while it is typed. Enter refuses an invalid text: a long text, or
 * one that started from an initial text, stays to be corrected; otherwise the prompt is emptied, so that the next input is not
 * appended to the refused text. Pasted line ends are kept in a long text, and become spaces in a short one.
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
    typed.refusal = null;
    if (key.name === 'paste-start' || key.name === 'paste-end') typed.isPasting = key.name === 'paste-start';
    else if (isEnter && isPastedLineEnd(typed, question.lineEnds)) {
      if (question.isLong) Object.assign(typed, { finished: [...typed.finished, typed.line], line: '' });
      else rl.write(`${typed.line} `);
    } else if (isEnter && question.fault(textOf(typed)) === null) {
      setStatus('done');
      return done(textOf(typed));
    } else if (isEnter) refuse(typed, question, rl);
    else if (key.name === 'backspace' && typed.line === '' && typed.finished.length > 0) {
      typed.line = typed.finished.pop() ?? '';
      rl.write(typed.line);
    } else typed.line = rl.line;
    // Each redraw writes the whole text, so pasted text is drawn only once, at its end.
    if (!typed.isPasting) redraw({});
  });
  const text = textOf(typed);
  const found =
    text === '' ? question.hint : (question.fault(text) ?? `${question.message}: OK. Press Enter to continue.`);
  const below = typed.refusal ?? found;
  return [`${prefix} ${question.message}: ${text}`, status === 'done' ? '' : below];
});

function typedFrom(text: string): Typed {
  const lines = text.split('\n');
  return { finished: lines.slice(0, -1), line: lines.at(-1) ?? '', isPasting: false, refusal: null };
}

/** Explains what is wrong and how to correct it. Readline has emptied its line at Enter. */
function refuse(
  typed: Typed,
  { isLong = false, initial = '', fault }: TextQuestion,
  rl: { write: (text: string) => void },
): void {
  const text = textOf(typed);
  const sentence = fault(text) ?? '';
  if (text === '') typed.refusal = sentence;
  else if (isLong || initial !== '') {
    rl.write(typed.line);
    typed.refusal = `${sentence} Correct it; Ctrl-U clears the line.`;
  } else {
    typed.refusal = `${text}: ${sentence} Type it again, or press ↑ to correct it.`;
    typed.line = '';
  }
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
