/** A question that is answered with free text. */
export type TextQuestion = {
  message: string;
  /** Shown while nothing is typed. */
  hint: string;
  /** The text that the prompt starts with. */
  initial?: string;
  /** Whether the text may have several lines: line ends in pasted text are kept. */
  isLong?: boolean;
  /** Returns a sentence that says what is wrong with the text; null if it is valid. */
  fault: (text: string) => string | null;
};

/** One of several choices, and its label. */
export type Choice<T extends string> = { value: T; name: string };
